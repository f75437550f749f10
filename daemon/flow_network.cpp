#include "daemon/flow_network.h"

#include <algorithm>

#include "daemon/flow_rules.h"

namespace outlierd {
namespace {

constexpr std::size_t kBinsOfTalkers = 24, kMostTalkers = 8192, kMostEvents = 2000;

FlowBinsOptions bins_options(const config::NetworkConfig& settings, std::int64_t now) {
  FlowBinsOptions options;
  options.network = config::network_of(settings);
  options.lateness_seconds = int(settings.lateness.count());
  options.listening_since = now;
  options.most_talkers = kMostTalkers;
  return options;
}

}  // namespace

FlowNetwork::FlowNetwork(const config::NetworkConfig& settings, std::shared_ptr<const NodeMap> map,
                         std::int64_t now, std::optional<EpochSeconds> closed_through)
    : network_(config::network_of(settings)),
      bins_(bins_options(settings, now), map),
      binner_(binner_options(settings), std::move(map)) {
  if (closed_through) {
    bins_.close_through(*closed_through);
    binner_.close_through(*closed_through);
  }
}

void FlowNetwork::use_map(const std::shared_ptr<const NodeMap>& map) {
  bins_.use_map(map);
  binner_.use_map(map);
}

ingest::FlowRefusal FlowNetwork::line(std::string_view line, const IpAddress& peer,
                                      std::int64_t now) {
  ++json_counters_.lines;
  const ingest::FlowRefusal refusal = json_.decode(line, batch_);
  if (refusal != ingest::FlowRefusal::kNone) ++json_counters_.refused[std::size_t(refusal)];
  if (batch_.records.empty()) return refusal;
  json_counters_.records += batch_.records.size();
  binner_.add({.exporter = batch_.exporter.family != 0 ? batch_.exporter : peer,
               .agent = batch_.agent,
               .received = now,
               .export_time = batch_.export_time,
               .lost_records = batch_.lost_records,
               .restarted = batch_.restarted},
              batch_.records);
  if (binner_.turned() || binner_.full()) bins_.add(binner_.harvest(), now);
  return refusal;
}

std::vector<FinishedBin> FlowNetwork::due(std::int64_t now) {
  bins_.add(binner_.harvest(), now);
  return keep_talkers(bins_.due(now));
}

std::vector<FinishedBin> FlowNetwork::flush(std::int64_t now) {
  bins_.add(binner_.harvest(), now);
  return keep_talkers(bins_.flush(now));
}

std::vector<FinishedBin> FlowNetwork::keep_talkers(std::vector<FinishedBin> finished) {
  if (const auto closed = bins_.closed_through()) binner_.close_through(*closed);
  for (FinishedBin& bin : finished) {
    talkers_.emplace_back(bin.time, std::move(bin.talkers));
    if (talkers_.size() > kBinsOfTalkers) talkers_.pop_front();
  }
  return finished;
}

void FlowNetwork::on_report(const SliceReport& report) {
  if (report.events.empty() || talkers_.empty()) return;
  const auto now = std::find_if(talkers_.begin(), talkers_.end(),
                                [&](const auto& bin) { return bin.first == report.time; });
  if (now == talkers_.end()) return;
  const std::size_t nodes = network_.nodes.size();
  for (const EventUpdate& update : report.events) {
    std::vector<bool> pairs(nodes * nodes);
    double weight = 0.0;
    for (const Anomaly& anomaly : report.anomalies) {
      if (anomaly.event != update.event.id) continue;
      pairs[std::size_t(anomaly.origin) * nodes + std::size_t(anomaly.destination)] = true;
      weight += anomaly.score;
    }
    const auto kept = behind_.find(update.event.id);
    if (weight == 0.0 || (kept != behind_.end() && kept->second.weight >= weight)) continue;
    std::vector<Talker> before;
    for (const auto& [time, talkers] : talkers_)
      if (time < update.event.opened) before.insert(before.end(), talkers.begin(), talkers.end());
    if (kept == behind_.end()) {
      behind_order_.push_back(update.event.id);
      if (behind_order_.size() > kMostEvents) {
        behind_.erase(behind_order_.front());
        behind_order_.pop_front();
      }
    }
    behind_[update.event.id] = {behind(now->second, before, pairs), weight};
  }
}

const Behind* FlowNetwork::behind_event(const std::string& id) const {
  const auto found = behind_.find(id);
  return found == behind_.end() ? nullptr : &found->second.behind;
}

std::vector<std::string> FlowNetwork::nodes_of(const ExporterFacts& facts) const {
  std::vector<std::string> names;
  for (std::size_t node = 0; node < network_.nodes.size(); ++node)
    if (facts.weight[node] + facts.gathering[node] > 0.0) names.push_back(network_.nodes[node]);
  return names;
}

}  // namespace outlierd
