#include "daemon/api/live_events.h"

#include <algorithm>

#include "daemon/api/json_names.h"

namespace outlierd::api {

bool matches(const EventRecord& event, const EventQuery& query) {
  return (!query.network || event.network == *query.network) &&
         (!query.open || event.open == *query.open) &&
         (!query.shape || event.shape == *query.shape) && event.opened >= query.range.from &&
         event.opened < query.range.to;
}

namespace {

bool matches(const AnomalyRecord& anomaly, const AnomalyQuery& query) {
  return (!query.network || anomaly.network == *query.network) &&
         (!query.metric || anomaly.metric == *query.metric) &&
         (!query.origin || anomaly.origin == *query.origin) &&
         (!query.destination || anomaly.destination == *query.destination) &&
         anomaly.score >= query.min_score && anomaly.time >= query.range.from &&
         anomaly.time < query.range.to;
}

// Begins at the newest that the query can want.
template <class Map, class Query>
auto first_of(const Map& map, const Query& query) {
  if (query.after && query.after->time < query.range.to) return map.upper_bound(*query.after);
  // No id sorts before the empty one: all of that second and later lie before this place.
  if (query.range.to != std::numeric_limits<EpochSeconds>::max())
    return map.lower_bound(Place{query.range.to, {}});
  return map.begin();
}

bool reaches(const TimeRange& range, const Place& floor) { return range.from > floor.time; }

}  // namespace

const LiveEvent& LiveEvents::put(EventRecord record) {
  const Place place{record.opened, record.id};
  auto known = places_.find(record.id);
  if (known != places_.end()) {
    const auto old = events_.find(known->second);
    bytes_ -= old->second.json.size();
    if (!record.acknowledged) record.acknowledged = std::move(old->second.record.acknowledged);
    if (!record.feedback) record.feedback = std::move(old->second.record.feedback);
    if (place != known->second) events_.erase(old);
  }
  LiveEvent& event = events_[place];
  places_[record.id] = place;
  event.json = begin_event(record);
  event.json.shrink_to_fit();
  record.cells = {};
  event.record = std::move(record);
  bytes_ += event.json.size();
  return event;
}

void LiveEvents::trim() {
  auto oldest = events_.end();
  while (oldest != events_.begin() && (events_.size() > most_events_ || bytes_ > most_bytes_)) {
    --oldest;
    if (oldest->second.record.open || std::next(events_.begin()) == events_.end()) continue;
    if (floor_) floor_ = std::max(*floor_, oldest->first);
    if (!floor_) floor_ = oldest->first;
    bytes_ -= oldest->second.json.size();
    places_.erase(oldest->first.id);
    oldest = events_.erase(oldest);
  }
}

void LiveEvents::seed(std::vector<EventRecord> events, bool complete) {
  std::optional<Place> lowest;
  for (EventRecord& event : events) {
    const Place place{event.opened, event.id};
    if (!lowest || place < *lowest) lowest = place;
  }
  if (complete) floor_.reset();
  // The lowest of a page is here itself, but the next may have the same second.
  if (!complete && lowest) floor_ = *lowest;
  for (EventRecord& event : events)
    if (!places_.contains(event.id)) put(std::move(event));
  trim();
}

const LiveEvent* LiveEvents::find(const std::string& id) const {
  const auto known = places_.find(id);
  return known == places_.end() ? nullptr : &events_.at(known->second);
}

bool LiveEvents::mark(const std::string& id, std::optional<Feedback> feedback) {
  const auto known = places_.find(id);
  if (known == places_.end()) return false;
  events_.at(known->second).record.feedback = std::move(feedback);
  return true;
}

bool LiveEvents::acknowledge(const std::string& id, const Acknowledgement& acknowledgement) {
  const auto known = places_.find(id);
  if (known == places_.end()) return false;
  events_.at(known->second).record.acknowledged = acknowledgement;
  return true;
}

std::vector<const LiveEvent*> LiveEvents::list(const EventQuery& query) const {
  std::vector<const LiveEvent*> found;
  found.reserve(query.limit + 1);
  for (auto at = first_of(events_, query); at != events_.end(); ++at) {
    if (at->first.time < query.range.from || found.size() > query.limit) break;
    if (matches(at->second.record, query)) found.push_back(&at->second);
  }
  return found;
}

bool LiveEvents::covers(const EventQuery& query, const std::vector<const LiveEvent*>& found) const {
  if (!floor_ || query.open == true || reaches(query.range, *floor_)) return true;
  if (found.size() <= query.limit) return false;
  const EventRecord& last = found.back()->record;
  return Place{last.opened, last.id} > *floor_;
}

int LiveEvents::open_in(const std::string& network) const {
  return int(std::count_if(events_.begin(), events_.end(), [&](const auto& entry) {
    return entry.second.record.open && entry.second.record.network == network;
  }));
}

void LiveAnomalies::put(AnomalyRecord record) {
  const Place place{record.time, record.id};
  anomalies_.insert_or_assign(place, std::move(record));
  while (anomalies_.size() > most_) {
    const auto oldest = std::prev(anomalies_.end());
    floor_ = floor_ ? std::max(*floor_, oldest->first) : oldest->first;
    anomalies_.erase(oldest);
  }
}

void LiveAnomalies::seed(std::vector<AnomalyRecord> anomalies, bool complete) {
  std::optional<Place> lowest;
  for (const AnomalyRecord& anomaly : anomalies) {
    const Place place{anomaly.time, anomaly.id};
    if (!lowest || place < *lowest) lowest = place;
  }
  if (complete) floor_.reset();
  if (!complete && lowest) floor_ = *lowest;
  for (AnomalyRecord& anomaly : anomalies) put(std::move(anomaly));
}

std::vector<const AnomalyRecord*> LiveAnomalies::list(const AnomalyQuery& query) const {
  std::vector<const AnomalyRecord*> found;
  for (auto at = first_of(anomalies_, query); at != anomalies_.end(); ++at) {
    if (at->first.time < query.range.from || found.size() > query.limit) break;
    if (matches(at->second, query)) found.push_back(&at->second);
  }
  return found;
}

bool LiveAnomalies::covers(const AnomalyQuery& query,
                           const std::vector<const AnomalyRecord*>& found) const {
  if (!floor_ || reaches(query.range, *floor_)) return true;
  if (found.size() <= query.limit) return false;
  return Place{found.back()->time, found.back()->id} > *floor_;
}

}  // namespace outlierd::api
