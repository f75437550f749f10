#pragma once
// The newest events and anomalies, each kept sorted newest first and bounded. Of an event the JSON
// is kept ready, so that a list costs little more than copying it.
//
// Open events are never let go. floor(): everything above that place that ever was is here; what
// lies at or below it may be missing and must be asked of the history too.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/api/history.h"

namespace outlierd::api {

struct LiveEvent {
  EventRecord record;  // without its cells: they are in the JSON
  std::string json;    // as begin_event() gives it
};

bool matches(const EventRecord& event, const EventQuery& query);

class LiveEvents {
 public:
  LiveEvents(std::size_t most_events, std::size_t most_bytes)
      : most_events_(most_events), most_bytes_(most_bytes) {}

  // Opened or changed; what operators said of it stays. Nothing is let go before trim().
  const LiveEvent& put(EventRecord record);
  void trim();
  // From the store at start: the newest, and whether there are no others.
  void seed(std::vector<EventRecord> events, bool complete);

  const LiveEvent* find(const std::string& id) const;
  bool mark(const std::string& id, std::optional<Feedback> feedback);
  bool acknowledge(const std::string& id, const Acknowledgement& acknowledgement);
  // Up to query.limit + 1, to see whether there are more.
  std::vector<const LiveEvent*> list(const EventQuery& query) const;
  // Whether that list is all there is to know down to its end.
  bool covers(const EventQuery& query, const std::vector<const LiveEvent*>& found) const;
  std::size_t size() const { return events_.size(); }
  int open_in(const std::string& network) const;

 private:
  const std::size_t most_events_, most_bytes_;
  std::map<Place, LiveEvent, std::greater<>> events_;
  std::unordered_map<std::string, Place> places_;
  std::size_t bytes_ = 0;
  std::optional<Place> floor_ = Place{std::numeric_limits<EpochSeconds>::max(), {}};
};

class LiveAnomalies {
 public:
  explicit LiveAnomalies(std::size_t most) : most_(most) {}
  void put(AnomalyRecord record);
  void seed(std::vector<AnomalyRecord> anomalies, bool complete);
  std::vector<const AnomalyRecord*> list(const AnomalyQuery& query) const;
  bool covers(const AnomalyQuery& query, const std::vector<const AnomalyRecord*>& found) const;
  bool holds(const Place& place) const { return anomalies_.contains(place); }

 private:
  const std::size_t most_;
  std::map<Place, AnomalyRecord, std::greater<>> anomalies_;
  std::optional<Place> floor_ = Place{std::numeric_limits<EpochSeconds>::max(), {}};
};

}  // namespace outlierd::api
