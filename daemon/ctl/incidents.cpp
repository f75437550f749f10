#include "daemon/ctl/incidents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace outlierd::ctl {
namespace {

constexpr std::array<const char*, kIncidentKinds> kKindNames = {
    "spike", "ddos", "flash", "scan", "outage", "shift", "ramp", "dip", "step"};
constexpr std::array<const char*, 2> kProfileNames = {"subtle", "material"};
constexpr double kMadToSigma = 1.4826;  // of normal noise
constexpr double kLeastSpread = 0.02;   // of the median
constexpr double kLiveShare = 2e-4;     // of the network: a pair worth an incident
constexpr double kBigShare = 0.01;      // a pair whose loss is an incident of the network
constexpr double kBigNodeShare = 0.02;
constexpr std::size_t kFewestTogether = 3;  // pairs of a ddos, flash or scan
constexpr std::size_t kMargin = 6;          // quiet bins around an incident
constexpr int kAttempts = 500;

template <class Kind, std::size_t Count>
std::optional<Kind> named(const std::array<const char*, Count>& names, std::string_view name) {
  for (std::size_t k = 0; k < Count; ++k)
    if (name == names[k]) return Kind(k);
  return std::nullopt;
}

// Of what is not NaN; NaN of nothing. Changes the order.
double median_of(std::vector<double>& values) {
  const auto end =
      std::remove_if(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  const auto count = end - values.begin();
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + count / 2;
  std::nth_element(values.begin(), middle, end);
  if (count % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// 0 to 1, over an incident's bins, ends included.
double position(std::size_t bin, std::size_t bins) {
  return bins > 1 ? double(bin) / double(bins - 1) : 0.0;
}

// How much of what is added at the peak is there in bin k of the incident.
double envelope(IncidentKind kind, std::size_t k, std::size_t bins) {
  if (kind == IncidentKind::kRamp) return position(k, bins);
  if (kind != IncidentKind::kFlash) return 1.0;
  const std::size_t rise = std::max<std::size_t>(1, bins / 4);
  return k < rise ? position(k, rise) : std::exp(-3.0 * position(k - rise, bins - rise));
}

}  // namespace

const char* name_of(IncidentKind kind) { return kKindNames[std::size_t(kind)]; }
const char* name_of(Profile profile) { return kProfileNames[std::size_t(profile)]; }
std::optional<IncidentKind> incident_named(std::string_view name) {
  return named<IncidentKind>(kKindNames, name);
}
std::optional<Profile> profile_named(std::string_view name) {
  return named<Profile>(kProfileNames, name);
}

TrafficLevels measure_levels(const std::vector<std::vector<double>>& rows, std::size_t columns) {
  TrafficLevels levels;
  std::vector<double> values, steps;
  for (std::size_t column = 0; column < columns; ++column) {
    values.clear();
    steps.clear();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      values.push_back(rows[k][column]);
      if (k > 0) steps.push_back(rows[k][column] - rows[k - 1][column]);
    }
    const double median = median_of(values);
    const double middle = median_of(steps);
    for (double& step : steps) step = std::abs(step - middle);
    const double spread = kMadToSigma * median_of(steps) / std::sqrt(2.0);
    levels.median.push_back(std::isnan(median) ? 0.0 : median);
    levels.spread.push_back(
        std::max(std::isnan(spread) ? 0.0 : spread, kLeastSpread * levels.median.back()));
  }
  std::vector<double> totals;
  for (const std::vector<double>& row : rows) {
    double total = 0.0;
    for (double value : row) total += std::isnan(value) ? 0.0 : value;
    totals.push_back(total);
  }
  levels.total = totals.empty() ? 0.0 : median_of(totals);
  return levels;
}

void apply(const Incident& incident, std::size_t bin, std::span<double> row) {
  if (bin < incident.first_bin || bin >= incident.first_bin + incident.bins) return;
  if (incident.kind == IncidentKind::kShift) {
    const double moved = row[incident.columns[0]] * (1.0 - incident.kept);
    row[incident.columns[0]] -= moved;
    row[incident.columns[1]] += moved;
    return;
  }
  if (incident.added.empty()) {
    for (std::size_t column : incident.columns) row[column] *= incident.kept;
    return;
  }
  const double share = envelope(incident.kind, bin - incident.first_bin, incident.bins);
  for (std::size_t g = 0; g < incident.columns.size(); ++g)
    row[incident.columns[g]] += incident.added[g] * share;
}

IncidentPlanner::IncidentPlanner(const TrafficColumns& columns, const TrafficLevels& levels,
                                 IncidentPlan plan, Random& random)
    : columns_(columns), levels_(levels), plan_(plan), random_(random), busy_(plan.bins, false) {
  std::vector<double> share(columns.nodes.size(), 0.0);
  for (std::size_t k = 0; k < columns.pairs.size(); ++k) {
    const auto [origin, destination] = columns.pairs[k];
    share[std::size_t(origin)] += levels.median[k];
    if (origin == destination) continue;
    share[std::size_t(destination)] += levels.median[k];
    if (levels.median[k] <= kLiveShare * levels.total) continue;
    live_.push_back(k);
    if (levels.median[k] > kBigShare * levels.total) big_.push_back(k);
  }
  for (int node = 0; node < int(share.size()); ++node) {
    nodes_.push_back(node);
    if (share[std::size_t(node)] > kBigNodeShare * levels.total) big_nodes_.push_back(node);
  }
}

std::vector<Incident> IncidentPlanner::plan() {
  const double bins_a_day = 86400.0 / plan_.bin_seconds;
  const auto wanted =
      std::size_t(std::llround(plan_.per_day * double(plan_.bins) * 0.6 / bins_a_day));
  std::vector<Incident> incidents;
  for (std::size_t q = 0; q < std::max(wanted, plan_.at_least); ++q) {
    Incident incident;
    incident.kind = IncidentKind(q % kIncidentKinds);
    incident.bins = draw_length(incident.kind);
    const auto place = draw_place(incident.bins);
    if (!place) continue;
    incident.first_bin = *place;
    incident.size = plan_.profile == Profile::kMaterial ? random_.log_uniform(0.01, 0.10)
                                                        : random_.log_uniform(3.0, 30.0);
    if (draw_effect(incident)) incidents.push_back(std::move(incident));
  }
  std::sort(incidents.begin(), incidents.end(),
            [](const Incident& a, const Incident& b) { return a.first_bin < b.first_bin; });
  return incidents;
}

std::optional<Incident> IncidentPlanner::single(IncidentKind kind, std::size_t first_bin,
                                                double share) {
  Incident incident;
  incident.kind = kind;
  incident.first_bin = first_bin;
  incident.bins = draw_length(kind);
  incident.size = share;
  const Profile before = std::exchange(plan_.profile, Profile::kMaterial);
  const bool drawn = draw_effect(incident);
  plan_.profile = before;
  return drawn ? std::optional(std::move(incident)) : std::nullopt;
}

std::size_t IncidentPlanner::draw_length(IncidentKind kind) {
  const auto bins_of = [this](double hours) {
    return std::max<std::int64_t>(1, std::llround(hours * 3600.0 / plan_.bin_seconds));
  };
  const auto up_to = [&](double hours) { return random_.integer(1, bins_of(hours)); };
  const auto between = [&](double low, double high) { return bins_of(random_.uniform(low, high)); };
  switch (kind) {
    case IncidentKind::kSpike:
      return std::size_t(up_to(0.5));
    case IncidentKind::kDdos:
    case IncidentKind::kScan:
      return std::size_t(up_to(1));
    case IncidentKind::kOutage:
      return std::size_t(up_to(2));
    case IncidentKind::kFlash:
      return std::size_t(between(1, 4));
    case IncidentKind::kShift:
    case IncidentKind::kDip:
      return std::size_t(between(0.5, 3));
    case IncidentKind::kRamp:
      return std::size_t(between(3, 8));
    case IncidentKind::kStep:
      return std::size_t(between(4, 12));
  }
  return 1;
}

// Somewhere after the clean part, with a margin to the others.
std::optional<std::size_t> IncidentPlanner::draw_place(std::size_t length) {
  const std::size_t first = plan_.first_possible_bin();
  if (plan_.bins < first + length + 3) return std::nullopt;
  const std::size_t places = plan_.bins - length - 2 - first;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::size_t place = first + random_.index(places);
    const auto begin = busy_.begin() + std::ptrdiff_t(place - std::min(place, kMargin));
    const auto end = busy_.begin() + std::ptrdiff_t(std::min(place + length + kMargin, plan_.bins));
    if (std::find(begin, end, true) != end) continue;
    std::fill_n(busy_.begin() + std::ptrdiff_t(place), length, true);
    return place;
  }
  return std::nullopt;
}

template <class T>
std::optional<T> IncidentPlanner::choose(const std::vector<T>& from) {
  if (from.empty()) return std::nullopt;
  return from[random_.index(from.size())];
}

bool IncidentPlanner::draw_effect(Incident& incident) {
  switch (incident.kind) {
    case IncidentKind::kSpike:
    case IncidentKind::kRamp:
    case IncidentKind::kStep:
      return add_to_one(incident);
    case IncidentKind::kDdos:
    case IncidentKind::kFlash:
      return add_to_destination(incident);
    case IncidentKind::kScan:
      return add_from_origin(incident);
    case IncidentKind::kOutage:
      return lose_node(incident);
    case IncidentKind::kDip:
      return lose_pair(incident);
    case IncidentKind::kShift:
      return move_pair(incident);
  }
  return false;
}

bool IncidentPlanner::add_to_one(Incident& incident) {
  const auto column = choose(live_);
  if (!column) return false;
  incident.columns = {*column};
  incident.added = {incident.size * (plan_.profile == Profile::kMaterial
                                         ? levels_.total
                                         : levels_.spread[*column])};
  return true;
}

bool IncidentPlanner::add_to_destination(Incident& incident) {
  const int node = nodes_[random_.index(nodes_.size())];
  std::vector<std::size_t> possible;
  for (std::size_t column : live_)
    if (columns_.pairs[column].destination == node) possible.push_back(column);
  if (possible.size() < kFewestTogether) return false;
  const auto count =
      std::max(kFewestTogether, std::size_t(double(possible.size()) * random_.uniform(0.4, 1.0)));
  incident.columns = random_.sample(possible, count);
  double sum = 0.0;
  for (std::size_t k = 0; k < count; ++k)
    sum += incident.added.emplace_back(random_.uniform(0.5, 1.5));
  for (std::size_t k = 0; k < count; ++k)
    incident.added[k] *= incident.size * (plan_.profile == Profile::kMaterial
                                              ? levels_.total / sum
                                              : 0.6 * levels_.spread[incident.columns[k]]);
  return true;
}

bool IncidentPlanner::add_from_origin(Incident& incident) {
  const int node = nodes_[random_.index(nodes_.size())];
  for (std::size_t column : live_)
    if (columns_.pairs[column].origin == node) incident.columns.push_back(column);
  if (incident.columns.size() < kFewestTogether) return false;
  for (std::size_t column : incident.columns)
    incident.added.push_back(incident.size * (plan_.profile == Profile::kMaterial
                                                  ? levels_.total / double(incident.columns.size())
                                                  : 0.4 * levels_.spread[column]));
  return true;
}

bool IncidentPlanner::lose_node(Incident& incident) {
  const auto node = choose(plan_.profile == Profile::kMaterial ? big_nodes_ : nodes_);
  if (!node) return false;
  for (std::size_t column = 0; column < columns_.pairs.size(); ++column)
    if (columns_.pairs[column].origin == *node || columns_.pairs[column].destination == *node)
      incident.columns.push_back(column);
  incident.kept = random_.uniform(0.0, 0.3);
  incident.size = 1.0 - incident.kept;
  return true;
}

bool IncidentPlanner::lose_pair(Incident& incident) {
  const auto column = choose(plan_.profile == Profile::kMaterial ? big_ : live_);
  if (!column) return false;
  incident.columns = {*column};
  incident.kept = random_.uniform(0.0, 0.2);
  incident.size = 1.0 - incident.kept;
  return true;
}

bool IncidentPlanner::move_pair(Incident& incident) {
  const auto from = choose(plan_.profile == Profile::kMaterial ? big_ : live_);
  if (!from) return false;
  const Pair pair = columns_.pairs[*from];
  std::vector<std::size_t> others;
  for (std::size_t column = 0; column < columns_.pairs.size(); ++column) {
    const Pair other = columns_.pairs[column];
    if (other.destination == pair.destination && other.origin != pair.origin &&
        other.origin != pair.destination)
      others.push_back(column);
  }
  const auto to = choose(others);
  if (!to) return false;
  incident.columns = {*from, *to};
  incident.size = random_.uniform(0.6, 1.0);
  incident.kept = 1.0 - incident.size;
  return true;
}

}  // namespace outlierd::ctl
