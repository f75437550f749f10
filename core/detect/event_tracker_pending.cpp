// Pending events: what is suspicious and alarms nobody. Nothing here changes what is flagged or
// what an open event holds, but for since when.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/detect/event_tracker.h"

namespace outlierd::detect {
namespace {

// Of the threshold: from here on a cell is suspicious. It stays so down to the level that keeps an
// event open. In two months of measured traffic there were 8 and 15 pending events a day, 0.2 at
// once, and of 40 events 15 had been pending before, for some four bins.
constexpr float kSuspicious = 0.8f;
constexpr std::size_t kMostSuspicious = 1000;  // cells of a slice, the strongest
constexpr std::size_t kMostPendingCells = 100;
constexpr std::size_t kNone = ~std::size_t{0};

}  // namespace

std::vector<std::uint32_t> EventTracker::suspicious(const ScoredSlice& slice) const {
  std::vector<std::uint32_t> cells;
  const float low = kSuspicious * slice.threshold;
  for (std::size_t cell = 0; cell < slice.score.size(); ++cell) {
    const float sigmas = std::abs(slice.score[cell]);
    if (sigmas >= low && sigmas <= slice.threshold) cells.push_back(std::uint32_t(cell));
  }
  if (cells.size() <= kMostSuspicious) return cells;
  const auto end = cells.begin() + kMostSuspicious;
  std::nth_element(cells.begin(), end, cells.end(), [&](std::uint32_t a, std::uint32_t b) {
    const float x = std::abs(slice.score[a]), y = std::abs(slice.score[b]);
    return x != y ? x > y : a < b;
  });
  cells.erase(end, cells.end());
  std::sort(cells.begin(), cells.end());
  return cells;
}

// The open event that has a flagged or live cell in the same row or column.
std::size_t EventTracker::event_met(std::uint32_t cell, const EventOfRoot& event_of_root) {
  for (const std::size_t node : {row_of(cell), network_.nodes.size() + column_of(cell)})
    if (const auto found = event_of_root.find(root(node)); found != event_of_root.end())
      return found->second;
  return kNone;
}

// Calm: dropped. Where an event is: part of it, and if that was opened now, its beginning.
void EventTracker::follow_pending(const ScoredSlice& slice, const EventOfRoot& event_of_root,
                                  std::size_t known) {
  std::erase_if(pending_, [&](OpenEvent& pending) {
    follow(pending, slice);
    if (pending.quiet > 0 || pending.unseen >= close_after_) return true;
    bool met = false;
    for (const Member& member : pending.members) {
      if (pending.unseen == 0 && member.last_live != pending.age) continue;
      const std::size_t at = event_met(member.cell, event_of_root);
      if (at == kNone) continue;
      met = true;
      Event& event = open_[at].event;
      if (at >= known) event.since = std::min(event.since, pending.event.since);
    }
    return met;
  });
}

// After what was flagged has found its events; event_of_root and the groups are theirs, and those
// from `known` on were opened by this slice.
void EventTracker::watch(const ScoredSlice& slice, const EventOfRoot& event_of_root,
                         std::size_t known) {
  follow_pending(slice, event_of_root, known);
  std::vector<std::uint32_t> cells = suspicious(slice);
  std::erase_if(cells, [&](auto cell) { return event_met(cell, event_of_root) != kNone; });
  if (cells.empty() && pending_.empty()) return;

  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  const auto take = [&](auto cell) { join(row_of(cell), network_.nodes.size() + column_of(cell)); };
  for (const std::uint32_t cell : cells) take(cell);
  for (const OpenEvent& pending : pending_)
    for (const Member& member : pending.members) take(member.cell);
  EventOfRoot pending_of_root;
  for (std::size_t i = 0; i < pending_.size(); ++i)
    for (const Member& member : pending_[i].members)
      pending_of_root.emplace(root(row_of(member.cell)), i);

  std::map<std::size_t, std::vector<std::uint32_t>> fresh;
  for (const std::uint32_t cell : cells) {
    const auto found = pending_of_root.find(root(row_of(cell)));
    if (found == pending_of_root.end()) {
      fresh[root(row_of(cell))].push_back(cell);
    } else if (pending_[found->second].members.size() < kMostPendingCells) {
      add(pending_[found->second], cell, slice);
    }
  }
  for (const auto& [group_root, members] : fresh) {
    if (pending_.size() >= kMostPending) break;
    OpenEvent pending;
    pending.event.id = id_of(slice.time, members);
    pending.event.since = pending.event.opened = slice.time;
    pending.scored_cells = slice.scored_cells;
    for (std::size_t k = 0; k < std::min(members.size(), kMostPendingCells); ++k)
      add(pending, members[k], slice);
    pending_.push_back(std::move(pending));
  }
  for (OpenEvent& pending : pending_)
    if (pending.event.updated == slice.time) describe(pending);
}

std::vector<Event> EventTracker::pending_events() const {
  std::vector<Event> events;
  for (const OpenEvent& pending : pending_) {
    events.push_back(pending.event);
    events.back().open = false;
    events.back().pending = true;
  }
  return events;
}

}  // namespace outlierd::detect
