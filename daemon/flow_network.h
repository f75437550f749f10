#pragma once
// The flow side of one network, on the network thread: harvests of its receivers and lines of JSON
// in, finished bins out; its exporters; and who was behind its events.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "core/detect/report.h"
#include "core/traffic/flow_bins.h"
#include "core/traffic/operational_events.h"
#include "daemon/ingest/flow/flow_json.h"

namespace outlierd {

struct JsonFlowCounters {
  std::uint64_t lines = 0, records = 0;
  std::array<std::uint64_t, ingest::kFlowRefusals> refused{};
};

class FlowNetwork {
 public:
  FlowNetwork(const config::NetworkConfig& settings, std::shared_ptr<const NodeMap> map,
              std::int64_t now, std::optional<EpochSeconds> closed_through);

  void use_map(const std::shared_ptr<const NodeMap>& map);
  void add(FlowHarvest&& harvest, std::int64_t now) { bins_.add(std::move(harvest), now); }
  // A line with the decoder's padding behind it. An exporter that the line does not name is `peer`.
  // On a refusal, problem() says why.
  ingest::FlowRefusal line(std::string_view line, const IpAddress& peer, std::int64_t now,
                           bool count_egress = false);
  const std::string& problem() const { return json_.problem(); }

  std::vector<FinishedBin> due(std::int64_t now);
  std::vector<FinishedBin> flush(std::int64_t now);  // at the end

  // Keeps who was behind the events that changed.
  void on_report(const SliceReport& report);
  const Behind* behind_event(const std::string& id) const;
  // For the next run; total as all readers.
  std::vector<std::byte> save_behind() const;
  bool restore_behind(std::span<const std::byte> bytes);

  // What the book has to say since the last call: each notice, and what opened or closed by it.
  struct News {
    ExporterNotice notice;
    std::vector<OperationalEvent> changed;
  };
  std::vector<News> take_news(std::int64_t now);
  const OperationalEvents& operational() const { return operational_; }

  const Network& network() const { return network_; }
  FlowBins& bins() { return bins_; }
  const FlowBins& bins() const { return bins_; }
  const JsonFlowCounters& json_counters() const { return json_counters_; }
  std::vector<std::string> nodes_of(const ExporterFacts& facts) const;

 private:
  struct Kept {
    Behind behind;
    double weight = 0.0;
  };

  std::vector<FinishedBin> keep_talkers(std::vector<FinishedBin> finished);

  Network network_;
  FlowBins bins_;
  FlowBinner binner_;  // of lines of JSON
  OperationalEvents operational_;
  ingest::FlowJsonDecoder json_;
  ingest::FlowBatch batch_;
  JsonFlowCounters json_counters_;
  std::deque<std::pair<EpochSeconds, std::vector<Talker>>> talkers_;  // of the bins before
  std::map<std::string, Kept> behind_;
  std::deque<std::string> behind_order_;
};

}  // namespace outlierd
