#include "daemon/flow_network.h"

#include <algorithm>

#include "core/byte_stream.h"
#include "daemon/flow_rules.h"

namespace outlierd {
namespace {

constexpr std::size_t kBinsOfTalkers = 24, kMostTalkers = 8192, kMostEvents = 2000;
constexpr std::uint32_t kBehindVersion = 1;

void put(ByteWriter& out, std::string_view text) {
  out.number(std::uint32_t(text.size()));
  out.numbers(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::string get_text(ByteReader& in) {
  const auto size = in.number<std::uint32_t>();
  if (in.failed() || size > in.rest().size()) {
    in.skip(in.rest().size() + 1);
    return {};
  }
  const auto bytes = in.rest().first(size);
  std::string text(reinterpret_cast<const char*>(bytes.data()), size);
  in.skip(size);
  return text;
}

void put(ByteWriter& out, const Behind& behind) {
  out.number(behind.time);
  out.number(std::uint64_t(behind.samples));
  out.number(std::uint32_t(behind.dimensions.size()));
  for (const TalkerDimension& dimension : behind.dimensions) {
    put(out, dimension.name);
    out.number(std::uint32_t(dimension.top.size()));
    for (const TalkerShare& one : dimension.top) {
      put(out, one.what);
      for (double value : {one.bytes, one.share, one.usual}) out.number(value);
    }
  }
}

Behind get_behind(ByteReader& in) {
  Behind behind;
  behind.time = in.number<EpochSeconds>();
  behind.samples = std::size_t(in.number<std::uint64_t>());
  for (auto count = in.number<std::uint32_t>(); count > 0 && !in.failed(); --count) {
    TalkerDimension dimension;
    dimension.name = get_text(in);
    for (auto top = in.number<std::uint32_t>(); top > 0 && !in.failed(); --top) {
      TalkerShare one;
      one.what = get_text(in);
      for (double* value : {&one.bytes, &one.share, &one.usual}) *value = in.number<double>();
      dimension.top.push_back(std::move(one));
    }
    behind.dimensions.push_back(std::move(dimension));
  }
  return behind;
}

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
      binner_(binner_options(settings), std::move(map)),
      operational_(settings.name) {
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
                                      std::int64_t now, bool count_egress) {
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
               .found_records = batch_.found_records,
               .restarted = batch_.restarted,
               .count_egress = count_egress},
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

std::vector<std::byte> FlowNetwork::save_behind() const {
  ByteWriter out;
  out.number(kBehindVersion);
  out.number(std::uint32_t(behind_order_.size()));
  for (const std::string& id : behind_order_) {
    const Kept& kept = behind_.at(id);
    put(out, id);
    out.number(kept.weight);
    put(out, kept.behind);
  }
  return out.take();
}

bool FlowNetwork::restore_behind(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  if (in.number<std::uint32_t>() != kBehindVersion) return false;
  std::map<std::string, Kept> found;
  std::deque<std::string> order;
  for (auto count = in.number<std::uint32_t>(); count > 0 && !in.failed(); --count) {
    std::string id = get_text(in);
    Kept kept;
    kept.weight = in.number<double>();
    kept.behind = get_behind(in);
    if (found.emplace(id, std::move(kept)).second) order.push_back(std::move(id));
  }
  if (!in.finished() || order.size() > kMostEvents) return false;
  behind_ = std::move(found);
  behind_order_ = std::move(order);
  return true;
}

std::vector<FlowNetwork::News> FlowNetwork::take_news(std::int64_t now) {
  std::vector<News> news;
  for (const ExporterNotice& notice : bins_.take_notices()) {
    const auto facts = bins_.book().exporters().find(notice.exporter);
    const std::vector<std::string> nodes = facts == bins_.book().exporters().end()
                                               ? std::vector<std::string>()
                                               : nodes_of(facts->second);
    news.push_back({notice, operational_.note(notice, nodes, now / 1000)});
  }
  return news;
}

std::vector<std::string> FlowNetwork::nodes_of(const ExporterFacts& facts) const {
  std::vector<std::string> names;
  for (std::size_t node = 0; node < network_.nodes.size(); ++node)
    if (facts.weight[node] + facts.gathering[node] > 0.0) names.push_back(network_.nodes[node]);
  return names;
}

}  // namespace outlierd
