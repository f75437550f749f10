#include "core/detect/event_shape.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr double kMost = 0.6;  // of the excess: enough to be what it is about
constexpr double kNearlyAll = 0.8;
constexpr double kCounts = 0.03;       // of the excess: less is no member
constexpr double kEverywhere = 0.4;    // of the scored cells
constexpr std::size_t kManyCells = 9;  // fewer are no network
constexpr int kMany = 3;               // origins of a ddos, destinations of a scan
constexpr double kBalance = 0.3;       // smaller over larger side of a shift
constexpr double kGone = 0.4;          // of the expected: above it a lasting fall is a level

double excess_of(const EventCell& cell) { return cell.observed - cell.expected; }

// The excess by origin and by destination, rises and falls apart.
struct Sums {
  explicit Sums(int nodes)
      : up_from(std::size_t(nodes)), up_to(up_from), down_from(up_from), down_to(up_from) {}
  std::vector<double> up_from, up_to, down_from, down_to;
  double up = 0.0, down = 0.0;
  double all() const { return up + down; }
};

Sums sums_of(const std::vector<EventCell>& cells, int nodes) {
  Sums sums(nodes);
  for (const EventCell& cell : cells) {
    const double excess = excess_of(cell);
    const double size = std::abs(excess);
    auto& from = excess >= 0 ? sums.up_from : sums.down_from;
    auto& to = excess >= 0 ? sums.up_to : sums.down_to;
    from[std::size_t(cell.origin)] += size;
    to[std::size_t(cell.destination)] += size;
    (excess >= 0 ? sums.up : sums.down) += size;
  }
  return sums;
}

int largest(const std::vector<double>& values) {
  return int(std::max_element(values.begin(), values.end()) - values.begin());
}

// Traffic to one destination that comes from another origin than it used to.
bool is_shift(const std::vector<EventCell>& cells, const Sums& sums, NamedShape& named) {
  for (std::size_t to = 0; to < sums.up_to.size(); ++to) {
    const double up = sums.up_to[to], down = sums.down_to[to];
    if (std::min(up, down) < kBalance * std::max(up, down) || up + down < kMost * sums.all())
      continue;
    double rise = 0.0, fall = 0.0;
    for (const EventCell& cell : cells) {
      if (cell.destination != int(to)) continue;
      if (excess_of(cell) > rise) rise = excess_of(cell), named.other_origin = cell.origin;
      if (-excess_of(cell) > fall) fall = -excess_of(cell), named.origin = cell.origin;
    }
    named.shape = Shape::kShift;
    named.destination = int(to);
    return rise > 0.0 && fall > 0.0;
  }
  return false;
}

// A node whose row and column are both down.
bool is_outage(const std::vector<EventCell>& cells, const Sums& sums, NamedShape& named) {
  if (cells.size() < 2) return false;
  for (std::size_t node = 0; node < sums.down_from.size(); ++node) {
    const double from = sums.down_from[node], to = sums.down_to[node];
    if (from + to < kNearlyAll * sums.all() || std::min(from, to) < kCounts * sums.all()) continue;
    named.shape = Shape::kOutage;
    named.origin = named.destination = int(node);
    return true;
  }
  return false;
}

int members(const std::vector<EventCell>& cells, double all, int origin, int destination) {
  return int(std::count_if(cells.begin(), cells.end(), [&](const EventCell& cell) {
    return excess_of(cell) > kCounts * all && (origin < 0 || cell.origin == origin) &&
           (destination < 0 || cell.destination == destination);
  }));
}

bool is_fan(const std::vector<EventCell>& cells, const Sums& sums, NamedShape& named) {
  const int to = largest(sums.up_to), from = largest(sums.up_from);
  const double in = sums.up_to[std::size_t(to)], out = sums.up_from[std::size_t(from)];
  const bool ddos = in >= kMost * sums.all() && members(cells, sums.all(), -1, to) >= kMany;
  const bool scan = out >= kMost * sums.all() && members(cells, sums.all(), from, -1) >= kMany;
  if (!ddos && !scan) return false;
  const bool inward = ddos && (!scan || in >= out);
  named.shape = inward ? Shape::kDdos : Shape::kScan;
  (inward ? named.destination : named.origin) = inward ? to : from;
  return true;
}

std::string times_expected(double observed, double expected) {
  char text[64];
  const double ratio = observed / expected;
  if (!(expected > 0.0) || !(ratio < 1000.0)) return "over 1000x";
  std::snprintf(text, sizeof text, ratio < 9.95 ? "%.1fx" : "%.0fx", ratio);
  return text;
}

std::string percent_of(double observed, double expected) {
  const double percent = expected > 0.0 ? 100.0 * observed / expected : 0.0;
  return std::to_string(std::lround(percent)) + "%";
}

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

NamedShape name_shape(const EventFacts& facts, int nodes) {
  const std::vector<EventCell>& cells = *facts.cells;
  const Sums sums = sums_of(cells, nodes);
  NamedShape named;
  named.up = sums.up >= sums.down;
  if (cells.empty()) return named;
  if (!named.up && is_outage(cells, sums, named)) return named;
  if (facts.scored_cells >= kManyCells &&
      double(cells.size()) >= kEverywhere * double(facts.scored_cells)) {
    named.shape = Shape::kNetwork;
    return named;
  }
  if (is_shift(cells, sums, named)) return named;
  if (named.up && is_fan(cells, sums, named)) return named;
  const EventCell& top =
      *std::max_element(cells.begin(), cells.end(), [](const EventCell& a, const EventCell& b) {
        return std::abs(excess_of(a)) < std::abs(excess_of(b));
      });
  named.origin = top.origin;
  named.destination = top.destination;
  named.shape = named.up ? Shape::kSpike : Shape::kDrop;
  if (facts.lasting && (named.up || top.observed > kGone * top.expected))
    named.shape = Shape::kLevel;
  return named;
}

std::string summary_of(const NamedShape& named, const std::vector<EventCell>& cells,
                       const Network& network) {
  double observed = 0.0, expected = 0.0;
  std::vector<int> origins, destinations;
  bool one_metric = true;
  for (const EventCell& cell : cells) {
    if (!cells.empty() && cell.metric != cells.front().metric) one_metric = false;
    const bool part = (named.shape == Shape::kNetwork) || (named.shape == Shape::kOutage) ||
                      ((named.origin < 0 || cell.origin == named.origin) &&
                       (named.destination < 0 || cell.destination == named.destination));
    if (!part) continue;
    observed += cell.observed;
    expected += cell.expected;
    origins.push_back(cell.origin);
    destinations.push_back(cell.destination);
  }
  const auto distinct = [](std::vector<int>& list) {
    std::sort(list.begin(), list.end());
    return std::size_t(std::unique(list.begin(), list.end()) - list.begin());
  };
  const std::size_t from_count = distinct(origins), to_count = distinct(destinations);
  const auto node = [&](int index) {
    return index < 0 ? std::string("?") : network.nodes[std::size_t(index)];
  };
  const std::string from = node(named.origin), to = node(named.destination);
  const std::string factor = times_expected(observed, expected);
  const std::string share = percent_of(observed, expected) + " of the expected";
  std::string text;
  switch (named.shape) {
    case Shape::kSpike:
      text = from + " sends " + factor + " the expected traffic to " + to;
      break;
    case Shape::kDrop:
      text = "traffic from " + from + " to " + to + " falls to " + share;
      break;
    case Shape::kDdos:
      text = counted(from_count, "origin") + " send " + factor + " the expected traffic to " + to;
      break;
    case Shape::kScan:
      text = from + " sends " + factor + " the expected traffic to " +
             counted(to_count, "destination");
      break;
    case Shape::kOutage:
      text = "traffic from and to " + from + " falls to " + share;
      break;
    case Shape::kShift:
      text = "traffic to " + to + " moves from " + from + " to " + node(named.other_origin);
      break;
    case Shape::kLevel:
      text = "traffic from " + from + " to " + to + " stays at " +
             (named.up ? factor + " the expected" : share);
      break;
    case Shape::kNetwork:
      text = "traffic between " + counted(cells.size(), "pair") +
             (named.up ? " rises to " + factor + " the expected" : " falls to " + share);
      break;
  }
  if (network.metrics.size() > 1 && one_metric && !cells.empty())
    text += " (" + network.metrics[std::size_t(cells.front().metric)] + ")";
  return text;
}

}  // namespace outlierd::detect
