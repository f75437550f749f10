#pragma once
// Anomalies that belong together become one event, over cells and over time.
//
// Flagged cells that share an origin or a destination are one group; a group that meets a live cell
// of an open event in the same way continues it, any other opens a new one. Cells nearly over
// the threshold in the line that several flagged ones share belong to it. An event stays while
// one of its cells is above a lower level, and closes after some quiet slices. What was not
// observed is neither quiet nor news.
//
// Cells nearly over the threshold that meet no event are grouped in the same way into pending
// events. These alarm nobody: the first quiet slice drops them, and an event that opens where one
// is still suspicious takes over since when.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/detect/report.h"
#include "core/detect/state_stream.h"

namespace outlierd::detect {

// One scored slice, cell by cell.
struct ScoredSlice {
  EpochSeconds time = 0;
  float threshold = 0.0f;
  std::span<const float> observed, expected, score;  // NaN: not observed, no score
  std::span<const std::uint32_t> flagged;            // cells, in order
  std::span<const std::uint32_t> settled;            // cells whose new level was accepted
  std::size_t scored_cells = 0;
};

class EventTracker {
 public:
  EventTracker(const Network& network, int close_after_slices);

  std::vector<EventUpdate> update(const ScoredSlice& slice);
  // The id of the event each flagged cell of the last slice belongs to, in their order.
  const std::vector<std::string>& flagged_events() const { return flagged_events_; }
  std::vector<Event> open_events() const;
  std::size_t open_count() const { return open_.size(); }
  std::vector<Event> pending_events() const;
  void exchange(StateStream& stream);

 private:
  struct Member {
    std::uint32_t cell = 0;
    EventCell peak;
    std::uint32_t last_live = 0;  // the event's age when it was last above the lower level
  };
  struct OpenEvent {
    Event event;
    std::vector<Member> members;
    std::uint32_t age = 0, quiet = 0, unseen = 0;
    std::uint64_t scored_cells = 0;
    double risen = 0.0, fallen = 0.0;  // the excess of its rises and of its falls, over the bins
    bool settled = false;
  };

  using EventOfRoot = std::map<std::size_t, std::size_t>;  // of a group the place in open_

  std::size_t row_of(std::uint32_t cell) const;
  std::size_t column_of(std::uint32_t cell) const;
  void follow(OpenEvent& open, const ScoredSlice& slice);
  void group(const ScoredSlice& slice);
  std::size_t root(std::size_t node);
  void join(std::size_t a, std::size_t b);
  void add(OpenEvent& open, std::uint32_t cell, const ScoredSlice& slice);
  void add_companions(OpenEvent& open, std::span<const std::uint32_t> flagged,
                      const ScoredSlice& slice);
  void describe(OpenEvent& open) const;
  std::string id_of(EpochSeconds opened, const std::vector<std::uint32_t>& cells) const;
  void watch(const ScoredSlice& slice, const EventOfRoot& event_of_root, std::size_t known);
  void follow_pending(const ScoredSlice& slice, const EventOfRoot& event_of_root,
                      std::size_t known);
  std::size_t event_met(std::uint32_t cell, const EventOfRoot& event_of_root);
  std::vector<std::uint32_t> suspicious(const ScoredSlice& slice) const;
  void exchange_list(StateStream& stream, std::vector<OpenEvent>& list, std::size_t most);
  void exchange_event(StateStream& stream, OpenEvent& open);

  Network network_;
  std::uint32_t close_after_, unseen_limit_;
  std::vector<OpenEvent> open_, pending_;  // oldest first
  std::vector<std::size_t> parent_;
  std::vector<std::string> flagged_events_;
};

}  // namespace outlierd::detect
