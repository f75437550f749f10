#include "daemon/api/live_state.h"

#include <algorithm>
#include <utility>

#include "daemon/api/json_names.h"

namespace outlierd::api {
namespace {

constexpr std::size_t kMostExpired = 1000;  // silences that are over and still shown

std::size_t bytes_of(const SliceReport& report) {
  return sizeof(SliceReport) +
         sizeof(float) *
             (report.observed.capacity() + report.expected.capacity() + report.low.capacity() +
              report.high.capacity() + report.sparse.capacity() + report.score.capacity());
}

std::vector<SlicePoint> points_of(const LiveNetwork& live, const SliceReport& report,
                                  double seconds) {
  std::vector<SlicePoint> points;
  const std::size_t metrics = live.network.metrics.size();
  for (std::size_t metric = 0; metric < metrics; ++metric)
    points.push_back({report.time, total_of(report, metrics, metric), report.threshold,
                      live.model.noise_precision, report.open_events, live.model.rank,
                      live.model.iterations, seconds});
  return points;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const SliceReport* LiveNetwork::slice_at(EpochSeconds time) const {
  const auto at = std::lower_bound(
      slices.begin(), slices.end(), time,
      [](const SliceReport& slice, EpochSeconds wanted) { return slice.time < wanted; });
  return at != slices.end() && at->time == time ? &*at : nullptr;
}

EpochSeconds LiveNetwork::bin_of(EpochSeconds time) const {
  const EpochSeconds width = network.bin_seconds;
  return time - ((time % width) + width) % width;
}

LiveState::LiveState(LiveOptions options, Clock now)
    : events(options.most_events, options.event_bytes),
      anomalies(options.most_anomalies),
      options_(options),
      now_(std::move(now)) {}

void LiveState::add_network(Network network, NetworkSettings settings) {
  LiveNetwork& live = networks_[network.name];
  if (live.network != network) {
    live.slices.clear();
    live.slice_bytes = 0;
    live.points.clear();
    live.pending.clear();
  }
  live.network = std::move(network);
  live.settings = std::move(settings);
  live.open_events = events.open_in(live.network.name);
  for (auto& [name, each] : networks_) trim(each);
}

void LiveState::remove_network(const std::string& name) { networks_.erase(name); }

void LiveState::trim(LiveNetwork& live) {
  const std::size_t most =
      std::min(options_.slice_bytes_each, options_.slice_bytes / networks_.size());
  while (live.slices.size() > 1 && live.slice_bytes > most) {
    live.slice_bytes -= bytes_of(live.slices.front());
    live.slices.pop_front();
  }
}

LiveState::Changes LiveState::on_report(const std::string& name, SliceReport&& report,
                                        double seconds) {
  Changes changes;
  const auto found = networks_.find(name);
  if (found == networks_.end()) return changes;
  LiveNetwork& live = found->second;
  events.trim();  // before, not behind: what is given out below must last
  for (const EventUpdate& update : report.events)
    changes.emplace_back(update.change, &events.put(record_of(live.network, update.event)));
  for (const Anomaly& anomaly : report.anomalies) anomalies.put(record_of(live.network, anomaly));
  take_pending(live, report.pending);
  report.events = {};
  report.pending = {};
  report.anomalies = {};
  live.warmup = report.warmup;
  live.threshold = report.threshold;
  live.open_events = report.open_events;
  live.model = std::move(report.model);
  live.last_slice = report.time;
  // Time runs forward; where it does not (a network was begun anew) the old slices are void.
  if (!live.slices.empty() && live.slices.back().time >= report.time) {
    live.slices.clear();
    live.slice_bytes = 0;
    live.points.clear();
  }
  live.slice_bytes += bytes_of(report);
  live.points.push_back(points_of(live, report, seconds));
  if (live.points.size() > options_.most_points) live.points.pop_front();
  live.slices.push_back(std::move(report));
  trim(live);
  return changes;
}

void LiveState::take_pending(LiveNetwork& live, const std::vector<Event>& pending) {
  std::vector<LiveEvent> old = std::exchange(live.pending, {});
  pending_changes_ = {};
  for (const Event& event : pending) {
    LiveEvent now{record_of(live.network, event), {}};
    now.json = begin_event(now.record);
    now.record.cells = {};
    const auto before = std::find_if(old.begin(), old.end(), [&](const LiveEvent& one) {
      return one.record.id == now.record.id;
    });
    if (before == old.end() || before->json != now.json) pending_changes_.changed.push_back(now);
    if (before != old.end()) old.erase(before);
    live.pending.push_back(std::move(now));
  }
  pending_changes_.dropped = std::move(old);
}

std::vector<const LiveEvent*> LiveState::pending(const EventQuery& query) const {
  std::vector<const LiveEvent*> found;
  const auto place = [](const LiveEvent& one) { return Place{one.record.opened, one.record.id}; };
  for (const auto& [name, live] : networks_)
    for (const LiveEvent& one : live.pending)
      if (matches(one.record, query) && (!query.after || place(one) < *query.after))
        found.push_back(&one);
  std::sort(found.begin(), found.end(),
            [&](const LiveEvent* x, const LiveEvent* y) { return place(*x) > place(*y); });
  if (found.size() > query.limit + 1) found.resize(query.limit + 1);
  return found;
}

const LiveEvent* LiveState::find_pending(const std::string& id) const {
  for (const auto& [name, live] : networks_)
    for (const LiveEvent& one : live.pending)
      if (one.record.id == id) return &one;
  return nullptr;
}

void LiveState::set_progress(const std::string& name, EpochSeconds last_slice, double warmup,
                             double threshold, ModelSummary model) {
  const auto found = networks_.find(name);
  if (found == networks_.end()) return;
  found->second.last_slice = last_slice;
  found->second.warmup = warmup;
  found->second.threshold = threshold;
  found->second.model = std::move(model);
}

void LiveState::count_open_events() {
  for (auto& [name, live] : networks_) live.open_events = events.open_in(name);
}

const LiveNetwork* LiveState::network(const std::string& name) const {
  const auto found = networks_.find(name);
  return found == networks_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> LiveState::bins_behind(const LiveNetwork& live) const {
  if (!live.last_slice) return std::nullopt;
  const EpochSeconds since_end = now_() - (*live.last_slice + live.network.bin_seconds);
  return std::max<EpochSeconds>(0, since_end / live.network.bin_seconds);
}

void LiveState::set_silences(std::vector<Silence> silences) {
  silences_ = std::move(silences);
  std::sort(silences_.begin(), silences_.end(), [](const Silence& x, const Silence& y) {
    return Place{x.created, x.id} > Place{y.created, y.id};
  });
}

void LiveState::add_silence(Silence silence) {
  silences_.push_back(std::move(silence));
  set_silences(std::move(silences_));
  std::size_t expired = 0;
  const EpochSeconds now = now_();
  std::erase_if(silences_,
                [&](const Silence& each) { return each.ends <= now && ++expired > kMostExpired; });
}

bool LiveState::expire_silence(const std::string& id, EpochSeconds now) {
  for (Silence& silence : silences_) {
    if (silence.id != id || silence.ends <= now) continue;
    silence.ends = now;
    return true;
  }
  return false;
}

bool LiveState::silenced(const EventRecord& event) const {
  if (silences_.empty()) return false;
  const EpochSeconds now = now_();
  return std::any_of(silences_.begin(), silences_.end(), [&](const Silence& silence) {
    return silence.starts <= now && now < silence.ends && matches(silence, event);
  });
}

bool matches(const Silence& silence, const EventRecord& event) {
  return (!silence.network || event.network == *silence.network) &&
         (!silence.shape || event.shape == *silence.shape) &&
         (!silence.origin || holds(event.origins, *silence.origin)) &&
         (!silence.destination || holds(event.destinations, *silence.destination)) &&
         (!silence.node || holds(event.origins, *silence.node) ||
          holds(event.destinations, *silence.node));
}

}  // namespace outlierd::api
