#pragma once
// What the API shows now: per network its settings, the last slices, the model; over all networks
// the newest events, anomalies and the silences. Fed from the reports; bounded in memory.
//
// Lives on the net thread. Reads the clock it is given.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "daemon/api/history.h"
#include "daemon/api/live_events.h"

namespace outlierd::api {

struct NetworkSettings {
  PipelineOptions pipeline = {};
  int lateness_seconds = 60;
  std::string time_zone = "UTC";
  std::vector<std::string> sources = {};
  std::string method = "outlierd";
};

struct LiveOptions {
  std::size_t slice_bytes_each = 8 << 20;  // of the last slices of one network; one is always kept
  std::size_t slice_bytes = 16 << 20;      // of all networks, shared equally
  std::size_t most_events = 5000;
  std::size_t event_bytes = 8 << 20;
  std::size_t most_anomalies = 10000;
  std::size_t most_points =
      2016;  // slices of one network remembered in a line: a week of 5 minutes
};

struct LiveNetwork {
  Network network;
  NetworkSettings settings;
  std::deque<SliceReport> slices;  // oldest first; their anomalies and events are taken out
  std::size_t slice_bytes = 0;
  std::deque<std::vector<SlicePoint>> points;  // oldest first, a metric each
  double warmup = 0.0, threshold = 0.0;
  int open_events = 0;
  std::vector<LiveEvent> pending;  // as the newest slice has them, oldest first
  ModelSummary model;
  std::optional<EpochSeconds> last_slice;

  const SliceReport* slice_at(EpochSeconds time) const;
  EpochSeconds bin_of(EpochSeconds time) const;  // the start of the bin that time lies in
};

class LiveState {
 public:
  using Clock = std::function<EpochSeconds()>;
  LiveState(LiveOptions options, Clock now);

  // A name that is known gets the new nodes and settings; if the nodes, metrics or bin changed, its
  // slices are let go. Its events stay.
  void add_network(Network network, NetworkSettings settings);
  void remove_network(const std::string& name);

  // What a restored pipeline knows before its first report.
  void set_progress(const std::string& network, EpochSeconds last_slice, double warmup,
                    double threshold, ModelSummary model);
  void count_open_events();  // after events were seeded

  // The events that changed, in the order of the report; valid until the next call.
  using Changes = std::vector<std::pair<EventChange, const LiveEvent*>>;
  // seconds: what the work on the slice took.
  Changes on_report(const std::string& network, SliceReport&& report,
                    double seconds = std::numeric_limits<double>::quiet_NaN());

  // Of the last on_report(): pending events that are new or changed, and those that are no more.
  struct PendingChanges {
    std::vector<LiveEvent> changed, dropped;
  };
  const PendingChanges& pending_changes() const { return pending_changes_; }
  // As LiveEvents::list() and find().
  std::vector<const LiveEvent*> pending(const EventQuery& query) const;
  const LiveEvent* find_pending(const std::string& id) const;

  const std::map<std::string, LiveNetwork>& networks() const { return networks_; }
  const LiveNetwork* network(const std::string& name) const;
  std::optional<std::int64_t> bins_behind(const LiveNetwork& network) const;
  EpochSeconds now() const { return now_(); }

  LiveEvents events;
  LiveAnomalies anomalies;

  void set_silences(std::vector<Silence> silences);
  void add_silence(Silence silence);
  bool expire_silence(const std::string& id, EpochSeconds now);  // false: unknown, or it had ended
  const std::vector<Silence>& silences() const { return silences_; }  // newest first
  bool silenced(const EventRecord& event) const;

 private:
  void trim(LiveNetwork& network);
  void take_pending(LiveNetwork& network, const std::vector<Event>& pending);

  const LiveOptions options_;
  const Clock now_;
  std::map<std::string, LiveNetwork> networks_;
  std::vector<Silence> silences_;
  PendingChanges pending_changes_;
};

bool matches(const Silence& silence, const EventRecord& event);

}  // namespace outlierd::api
