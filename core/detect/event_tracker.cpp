#include "core/detect/event_tracker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/detect/event_shape.h"

namespace outlierd::detect {
namespace {

constexpr float kStay = 0.6f;            // of the threshold: above it a cell keeps its event open
constexpr EpochSeconds kLasting = 3600;  // seconds: what is out for so long is a level
constexpr double kBack = 0.25;           // of the largest excess: below it a cell is back
constexpr double kCentral = 0.6;         // of the excess flagged: what it turns around
constexpr double kCompanion = 0.1;       // of the largest excess flagged: a smaller one stays out
constexpr std::size_t kMostOpen = 1000;  // events

// Still above the lower level, in the same direction, and not nearly back.
bool is_live(const EventCell& peak, std::uint32_t cell, const ScoredSlice& slice) {
  const float score = slice.score[cell];
  const double excess = double(slice.observed[cell]) - double(slice.expected[cell]);
  const double most = peak.observed - peak.expected;
  return std::abs(score) >= kStay * slice.threshold && (score >= 0) == (most >= 0) &&
         excess * most >= kBack * most * most;
}

}  // namespace

EventTracker::EventTracker(const Network& network, int close_after_slices)
    : network_(network),
      close_after_(std::uint32_t(std::max(1, close_after_slices))),
      unseen_limit_(std::uint32_t(std::max(1, 86400 / network.bin_seconds))),
      parent_(2 * network.nodes.size()) {}

std::size_t EventTracker::row_of(std::uint32_t cell) const {
  return cell / network_.metrics.size() / network_.nodes.size();
}
std::size_t EventTracker::column_of(std::uint32_t cell) const {
  return cell / network_.metrics.size() % network_.nodes.size();
}

std::size_t EventTracker::root(std::size_t node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}
void EventTracker::join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

// Rows are nodes 0..n-1 of the graph, columns n..2n-1; a cell joins its row and its column. A node
// that falls silent is down in its row and its column, which share no pair that carries traffic.
void EventTracker::group(const ScoredSlice& slice) {
  const std::size_t nodes = network_.nodes.size();
  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  std::vector<int> down_from(nodes), down_to(nodes);
  const auto take = [&](std::uint32_t cell, bool up) {
    join(row_of(cell), nodes + column_of(cell));
    if (!up) ++down_from[row_of(cell)], ++down_to[column_of(cell)];
  };
  for (std::uint32_t cell : slice.flagged) take(cell, slice.score[cell] >= 0);
  for (const OpenEvent& open : open_)
    for (const Member& member : open.members)
      if (open.age - member.last_live <= close_after_)
        take(member.cell, member.peak.observed >= member.peak.expected);
  for (std::size_t node = 0; node < nodes; ++node)
    if (down_from[node] > 0 && down_to[node] > 0 && down_from[node] + down_to[node] > 2)
      join(node, nodes + node);
}

// What became of an open event's own cells in this slice.
void EventTracker::follow(OpenEvent& open, const ScoredSlice& slice) {
  ++open.age;
  bool live = false, seen = open.members.empty();
  for (Member& member : open.members) {
    const float score = slice.score[member.cell];
    if (std::isnan(score)) continue;
    seen = true;
    if (!is_live(member.peak, member.cell, slice)) continue;
    live = true;
    add(open, member.cell, slice);
  }
  open.unseen = seen ? 0 : open.unseen + 1;
  if (live) open.quiet = 0;
  if (seen && !live) ++open.quiet;
}

// A cell of this slice into an event: its peak is kept, its excess counted.
void EventTracker::add(OpenEvent& open, std::uint32_t cell, const ScoredSlice& slice) {
  auto at = std::find_if(open.members.begin(), open.members.end(),
                         [&](const Member& member) { return member.cell == cell; });
  if (at == open.members.end()) {
    if (open.members.size() >= kMostEventCells) return;
    Member member;
    member.cell = cell;
    member.peak.origin = int(row_of(cell));
    member.peak.destination = int(column_of(cell));
    member.peak.metric = int(cell % network_.metrics.size());
    at = open.members.insert(open.members.end(), member);
  } else if (at->last_live == open.age && open.age > 0 && at->peak.score > 0) {
    return;  // counted already
  }
  at->last_live = open.age;
  const double observed = slice.observed[cell], expected = slice.expected[cell];
  const double score = std::abs(slice.score[cell]);
  (observed >= expected ? open.risen : open.fallen) += observed - expected;
  if (score > at->peak.score) {
    at->peak.score = score;
    at->peak.observed = observed;
    at->peak.expected = expected;
  }
  open.event.peak_score = std::max(open.event.peak_score, score);
  open.event.updated = slice.time;
}

// Cells nearly over the threshold that move the same way in the row or column that most of several
// flagged ones lie in (of a fall: the row and the column of a node), and are not small beside them,
// are part of what happened.
void EventTracker::add_companions(OpenEvent& open, std::span<const std::uint32_t> flagged,
                                  const ScoredSlice& slice) {
  if (flagged.size() < 2) return;
  const std::size_t nodes = network_.nodes.size(), metrics = network_.metrics.size();
  const auto size_of = [&](std::size_t cell) {
    return std::abs(double(slice.observed[cell]) - double(slice.expected[cell]));
  };
  struct Line {
    double excess = 0.0;
    int cells = 0;
    void add(double size) { excess += size, ++cells; }
    bool central(double all) const { return cells > 1 && excess >= kCentral * all; }
  };
  for (bool up : {true, false}) {
    double most = 0.0, all = 0.0;
    std::vector<Line> rows(nodes), columns(nodes);
    for (std::uint32_t cell : flagged) {
      if ((slice.score[cell] >= 0) != up) continue;
      const double size = size_of(cell);
      most = std::max(most, size);
      all += size;
      rows[row_of(cell)].add(size);
      columns[column_of(cell)].add(size);
    }
    if (!(all > 0.0)) continue;
    const auto look_at = [&](std::size_t origin, std::size_t destination) {
      for (std::size_t m = 0; m < metrics; ++m) {
        const std::size_t cell = (origin * nodes + destination) * metrics + m;
        const float score = slice.score[cell];
        const double size = size_of(cell);
        if ((score >= 0) == up && std::abs(score) >= kStay * slice.threshold &&
            size >= kCompanion * most && size <= most)
          add(open, std::uint32_t(cell), slice);
      }
    };
    for (std::size_t node = 0; node < nodes; ++node) {
      const Line both{rows[node].excess + columns[node].excess,
                      rows[node].cells + columns[node].cells};
      const bool silent = !up && both.central(all);
      if (silent || rows[node].central(all))
        for (std::size_t other = 0; other < nodes; ++other) look_at(node, other);
      if (silent || columns[node].central(all))
        for (std::size_t other = 0; other < nodes; ++other) look_at(other, node);
    }
  }
}

void EventTracker::describe(OpenEvent& open) const {
  Event& event = open.event;
  event.cells.clear();
  event.origins.clear();
  event.destinations.clear();
  for (const Member& member : open.members) {
    event.cells.push_back(member.peak);
    event.origins.push_back(member.peak.origin);
    event.destinations.push_back(member.peak.destination);
  }
  std::stable_sort(event.cells.begin(), event.cells.end(),
                   [](const EventCell& a, const EventCell& b) { return a.score > b.score; });
  for (auto* list : {&event.origins, &event.destinations}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  if (event.cells.empty()) return;  // its nodes are gone; what was said of it stays
  const bool lasting = open.settled || event.updated - event.opened >= kLasting;
  const NamedShape named = name_shape({&event.cells, std::size_t(open.scored_cells), lasting},
                                      int(network_.nodes.size()));
  event.shape = named.shape;
  event.up = named.up;
  event.excess = event.up ? open.risen : open.fallen;
  event.summary = summary_of(named, event.cells, network_);
}

// FNV-1a over names, so that the id does not depend on the order of the nodes.
std::string EventTracker::id_of(EpochSeconds opened,
                                const std::vector<std::uint32_t>& cells) const {
  std::vector<std::string> names;
  names.reserve(cells.size());
  for (std::uint32_t cell : cells)
    names.push_back(network_.nodes[row_of(cell)] + '\x1f' + network_.nodes[column_of(cell)] +
                    '\x1f' + network_.metrics[cell % network_.metrics.size()]);
  std::sort(names.begin(), names.end());
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&](const std::string& text) {
    for (const char letter : text) hash = (hash ^ std::uint8_t(letter)) * 0x100000001b3ull;
    hash = (hash ^ 0x1e) * 0x100000001b3ull;
  };
  mix(network_.name);
  mix(std::to_string(opened));
  for (const std::string& name : names) mix(name);
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ull;
  hash ^= hash >> 32;
  std::string id(16, '0');
  for (std::size_t i = 0; i < 16; ++i) id[15 - i] = "0123456789abcdef"[hash >> (4 * i) & 15];
  return id;
}

std::vector<EventUpdate> EventTracker::update(const ScoredSlice& slice) {
  group(slice);
  for (OpenEvent& open : open_) follow(open, slice);

  // Each group goes to the oldest event it meets, else to one of its own.
  EventOfRoot event_of_root;
  for (std::size_t i = 0; i < open_.size(); ++i)
    for (const Member& member : open_[i].members)
      if (open_[i].age - member.last_live <= close_after_)
        event_of_root.emplace(root(row_of(member.cell)), i);
  std::map<std::size_t, std::vector<std::uint32_t>> fresh;
  std::vector<std::vector<std::uint32_t>> own(open_.size());
  for (const std::uint32_t cell : slice.flagged) {
    const auto found = event_of_root.find(root(row_of(cell)));
    if (found == event_of_root.end()) {
      fresh[root(row_of(cell))].push_back(cell);
      continue;
    }
    own[found->second].push_back(cell);
    add(open_[found->second], cell, slice);
    open_[found->second].quiet = 0;
  }
  for (std::size_t i = 0; i < open_.size(); ++i) add_companions(open_[i], own[i], slice);
  std::vector<EventUpdate> updates;
  const std::size_t known = open_.size();
  for (const auto& [group_root, cells] : fresh) {
    if (open_.size() >= kMostOpen) break;
    OpenEvent open;
    open.event.id = id_of(slice.time, cells);
    open.event.since = open.event.opened = slice.time;
    open.scored_cells = slice.scored_cells;
    for (std::uint32_t cell : cells) add(open, cell, slice);
    add_companions(open, cells, slice);
    event_of_root.emplace(group_root, open_.size());
    open_.push_back(std::move(open));
  }
  flagged_events_.assign(slice.flagged.size(), {});
  for (std::size_t k = 0; k < slice.flagged.size(); ++k) {
    const auto found = event_of_root.find(root(row_of(slice.flagged[k])));
    if (found != event_of_root.end()) flagged_events_[k] = open_[found->second].event.id;
  }
  watch(slice, event_of_root, known);
  for (OpenEvent& open : open_)
    for (const Member& member : open.members)
      if (std::binary_search(slice.settled.begin(), slice.settled.end(), member.cell) &&
          member.peak.score >= 0.999 * open.event.peak_score &&
          is_live(member.peak, member.cell, slice))
        open.settled = true;

  for (std::size_t i = 0; i < open_.size(); ++i) {
    OpenEvent& open = open_[i];
    const bool over = open.quiet >= close_after_ || open.unseen >= unseen_limit_;
    if (i < known && !over && open.event.updated != slice.time) continue;
    describe(open);
    if (over) {
      open.event.open = false;
      open.event.closed = slice.time;
    }
    updates.push_back({i >= known ? EventChange::kOpened
                       : over     ? EventChange::kClosed
                                  : EventChange::kUpdated,
                       open.event});
  }
  std::erase_if(open_, [](const OpenEvent& open) { return !open.event.open; });
  return updates;
}

std::vector<Event> EventTracker::open_events() const {
  std::vector<Event> events;
  for (const OpenEvent& open : open_) events.push_back(open.event);
  return events;
}

void EventTracker::exchange(StateStream& stream) {
  exchange_list(stream, open_, kMostOpen);
  if (stream.version() >= 3) exchange_list(stream, pending_, kMostPending);
}

void EventTracker::exchange_list(StateStream& stream, std::vector<OpenEvent>& list,
                                 std::size_t most) {
  std::uint64_t count = list.size();
  stream.number(count, std::uint64_t{0}, std::uint64_t{most});
  if (stream.reading()) list.clear();
  for (std::uint64_t i = 0; i < count && !stream.failed(); ++i) {
    if (stream.reading()) list.emplace_back();
    exchange_event(stream, list[std::size_t(i)]);
  }
  if (stream.reading() && !stream.failed())
    for (OpenEvent& open : list) describe(open);
}

void EventTracker::exchange_event(StateStream& stream, OpenEvent& open) {
  stream.text(open.event.id, 64);
  stream.text(open.event.summary);
  auto shape = std::uint8_t(open.event.shape);
  auto up = std::uint8_t(open.event.up), settled = std::uint8_t(open.settled);
  stream.number(shape, std::uint8_t{0}, std::uint8_t(Shape::kNetwork));
  stream.number(up, std::uint8_t{0}, std::uint8_t{1});
  stream.number(settled, std::uint8_t{0}, std::uint8_t{1});
  open.event.shape = Shape(shape);
  open.event.up = up != 0;
  open.settled = settled != 0;
  stream.number(open.event.opened);
  if (stream.version() >= 3) {
    stream.number(open.event.since);
  } else {
    open.event.since = open.event.opened;
  }
  stream.number(open.event.updated);
  stream.number(open.event.peak_score);
  stream.number(open.event.excess);
  stream.number(open.risen);
  stream.number(open.fallen);
  stream.number(open.age);
  stream.number(open.quiet);
  stream.number(open.unseen);
  stream.number(open.scored_cells);
  std::uint64_t count = open.members.size();
  stream.number(count, std::uint64_t{0}, std::uint64_t{kMostEventCells});
  for (std::uint64_t i = 0; i < count && !stream.failed(); ++i) {
    Member member;
    if (!stream.reading()) member = open.members[std::size_t(i)];
    const int most = std::numeric_limits<std::int32_t>::max();
    stream.number(member.peak.origin, 0, most);
    stream.number(member.peak.destination, 0, most);
    stream.number(member.peak.metric, 0, most);
    stream.number(member.peak.observed);
    stream.number(member.peak.expected);
    stream.number(member.peak.score);
    stream.number(member.last_live, std::uint32_t{0}, open.age);
    if (!stream.reading() || stream.failed()) continue;
    const int origin = stream.map().node_to(member.peak.origin);
    const int destination = stream.map().node_to(member.peak.destination);
    const int metric = stream.map().metric_to(member.peak.metric);
    if (origin < 0 || destination < 0 || metric < 0) continue;
    member.peak.origin = origin;
    member.peak.destination = destination;
    member.peak.metric = metric;
    member.cell = std::uint32_t(network_.cell(origin, destination, metric));
    open.members.push_back(member);
  }
}

}  // namespace outlierd::detect
