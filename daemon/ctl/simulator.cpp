#include "daemon/ctl/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace outlierd::ctl {
namespace {

constexpr double kMassSigma = 0.8;      // of lognormal node masses
constexpr double kPairSigma = 0.6;      // of a pair around gravity
constexpr double kSmallSelf = 0.02;     // a self pair, where there is one, against gravity's
constexpr double kNetworkSigma = 0.02;  // stationary sizes of what is remembered, relative
constexpr double kNodeSigma = 0.04;
constexpr double kMemoryHours = 1.5;        // of network and node noise
constexpr double kPairMemoryHours = 0.25;   // of pair noise
constexpr double kBurstsADay = 0.15;        // of a pair
constexpr double kTailShape = 1.6;          // of burst sizes: finite mean, infinite variance
constexpr double kMostBurst = 40.0;         // of the pair's level
constexpr double kTimetableShare = 0.03;    // of the pairs
constexpr double kCellHole = 2e-4;          // chance a cell and bin
constexpr double kExporterAwayADay = 0.02;  // a node
constexpr double kDarkADay = 0.1;           // whole bins
constexpr std::array kCities = {"ATLA", "BOST", "CHIN", "DALL", "DNVR", "HSTN", "IPLS", "KSCY",
                                "LOSA", "MIAM", "NYCM", "PHIL", "SEAT", "SNVA", "STTL", "WASH"};

// The part of the noise that goes on from one bin to the next.
double kept(double memory_hours, int bin_seconds) {
  return std::exp(-bin_seconds / (memory_hours * 3600.0));
}

std::vector<std::string> node_names(int count) {
  std::vector<std::string> names;
  for (int k = 0; k < count; ++k)
    names.push_back(count <= int(kCities.size()) ? std::string(kCities[std::size_t(k)])
                                                 : fmt::format("n{:03}", k + 1));
  return names;
}

}  // namespace

Simulator::Simulator(SimulatorOptions options)
    : options_(std::move(options)), random_(options_.seed) {
  make_nodes();
  make_pairs();
  make_timetables();
}

std::size_t Simulator::bins_of(double hours) const {
  return std::size_t(std::max(1.0, std::round(hours * 3600.0 / options_.bin_seconds)));
}

void Simulator::make_nodes() {
  columns_.nodes = options_.names.empty() ? node_names(options_.nodes) : options_.names;
  options_.nodes = int(columns_.nodes.size());
  for (int k = 0; k < options_.nodes; ++k) {
    Node& node = nodes_.emplace_back();
    const double mass = random_.log_normal(kMassSigma);
    node.sends = mass * random_.log_normal(0.3);
    node.receives = mass * random_.log_normal(0.3);
    node.peak_hour = random_.uniform(17.0, 23.0);  // afternoons, three time zones wide and more
    node.depth = random_.uniform(0.25, 0.55);
    node.weekend = random_.uniform(0.55, 0.9);
    node.noise = kNodeSigma * random_.normal();
  }
}

void Simulator::make_pairs() {
  double sends = 0.0, receives = 0.0;
  for (const Node& node : nodes_) {
    sends += node.sends;
    receives += node.receives;
  }
  const double total = options_.megabits_a_node * 1e6 / 8.0 * options_.bin_seconds * options_.nodes;
  for (int origin = 0; origin < options_.nodes; ++origin)
    for (int destination = 0; destination < options_.nodes; ++destination) {
      const Node &from = nodes_[std::size_t(origin)], &to = nodes_[std::size_t(destination)];
      PairState& pair = pairs_.emplace_back();
      pair.level =
          total * from.sends / sends * to.receives / receives * random_.log_normal(kPairSigma);
      if (origin == destination) pair.level *= random_.chance(0.5) ? 0.0 : kSmallSelf;
      pair.noise_sigma = random_.uniform(0.05, 0.25);
      pair.noise = pair.noise_sigma * random_.normal();
      columns_.pairs.push_back({origin, destination});
      columns_.names.push_back(columns_.nodes[std::size_t(origin)] + ">" +
                               columns_.nodes[std::size_t(destination)]);
      const double change =
          std::sqrt(1.0 - std::pow(kept(kPairMemoryHours, options_.bin_seconds), 2));
      levels_.median.push_back(pair.level);
      levels_.spread.push_back(pair.level * std::max(0.02, pair.noise_sigma * change));
      levels_.total += pair.level;
    }
}

// Backups, mirrors and measurements: every 90 minutes, every six hours, every night.
void Simulator::make_timetables() {
  std::vector<std::size_t> candidates;
  for (std::size_t k = 0; k < pairs_.size(); ++k)
    if (columns_.pairs[k].origin != columns_.pairs[k].destination) candidates.push_back(k);
  if (candidates.empty()) return;
  const auto count = std::size_t(std::ceil(kTimetableShare * double(candidates.size())));
  for (std::size_t k : random_.sample(candidates, count)) {
    PairState& pair = pairs_[k];
    constexpr std::array kPeriods = {1.5, 6.0, 24.0};
    pair.period = bins_of(kPeriods[random_.index(kPeriods.size())]);
    pair.offset = random_.index(pair.period);
    pair.length =
        std::min(bins_of(random_.uniform(0.1, 0.5)), std::max<std::size_t>(1, pair.period / 2));
    pair.amount = pair.level * random_.uniform(2.0, 6.0);
  }
}

double Simulator::activity(const Node& node, EpochSeconds time) const {
  const double hour = double(((time % 86400) + 86400) % 86400) / 3600.0;
  const double angle = 2.0 * std::numbers::pi * (hour - node.peak_hour) / 24.0;
  const double day = 1.0 + node.depth * std::cos(angle) + 0.2 * node.depth * std::cos(2.0 * angle);
  // 1970-01-01 was a Thursday. The weekend of a node's people is theirs, not Greenwich's.
  const double local_days = (double(time) + (14.0 - node.peak_hour) * 3600.0) / 86400.0;
  const double weekday = std::fmod(std::fmod(local_days + 3.0, 7.0) + 7.0, 7.0);  // 0 = Monday
  const double into_weekend = std::min(weekday - 5.0, 7.0 - weekday) * 24.0;      // hours
  const double share = std::clamp(into_weekend / 6.0 + 0.5, 0.0, 1.0);  // no jump at midnight
  return day * (1.0 - share * (1.0 - node.weekend));
}

double Simulator::pair_value(PairState& pair, double activity) {
  const double memory = kept(kPairMemoryHours, options_.bin_seconds);
  pair.noise =
      memory * pair.noise + std::sqrt(1.0 - memory * memory) * pair.noise_sigma * random_.normal();
  if (pair.burst_bins > 0) --pair.burst_bins;
  if (random_.chance(kBurstsADay * options_.bin_seconds / 86400.0)) {
    pair.burst = pair.level * 0.5 * std::min(kMostBurst, random_.pareto(kTailShape));
    pair.burst_bins = int(random_.integer(1, std::int64_t(bins_of(0.5))));
  }
  double value = pair.level * activity * std::exp(pair.noise);
  if (pair.burst_bins > 0) value += pair.burst;
  if (pair.amount > 0 && (bin_ + pair.period - pair.offset) % pair.period < pair.length)
    value += pair.amount * (1.0 + 0.1 * pair.noise / pair.noise_sigma);
  return std::round(value);
}

Simulator::Bin Simulator::next(EpochSeconds& time, std::vector<double>& values) {
  if (bin_ >= options_.bins) return Bin::kNoMore;
  time = options_.start + EpochSeconds(bin_) * options_.bin_seconds;
  const double memory = kept(kMemoryHours, options_.bin_seconds);
  const double change = std::sqrt(1.0 - memory * memory);
  network_noise_ = memory * network_noise_ + change * kNetworkSigma * random_.normal();
  std::vector<double> activities;
  for (Node& node : nodes_) {
    node.noise = memory * node.noise + change * kNodeSigma * random_.normal();
    activities.push_back(activity(node, time) * std::exp(node.noise));
  }
  values.resize(pairs_.size());
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const auto [origin, destination] = columns_.pairs[k];
    // People at both ends make the traffic: the geometric mean of their days.
    const double both =
        std::sqrt(activities[std::size_t(origin)] * activities[std::size_t(destination)]);
    values[k] = pair_value(pairs_[k], both * std::exp(network_noise_));
  }
  if (options_.holes) make_holes(values);
  const bool left_out = options_.holes && bin_ < dark_until_ && dark_rows_left_out_;
  ++bin_;
  return left_out ? Bin::kLeftOut : Bin::kMeasured;
}

void Simulator::make_holes(std::vector<double>& values) {
  constexpr double kNotObserved = std::numeric_limits<double>::quiet_NaN();
  const double days_a_bin = options_.bin_seconds / 86400.0;
  if (random_.chance(kDarkADay * days_a_bin)) {
    dark_until_ = bin_ + std::size_t(random_.integer(1, 3));
    dark_rows_left_out_ = random_.chance(0.5);
  }
  for (Node& node : nodes_)
    if (random_.chance(kExporterAwayADay * days_a_bin))
      node.unseen_until = bin_ + std::size_t(random_.integer(1, std::int64_t(bins_of(1.0))));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Node& origin = nodes_[std::size_t(columns_.pairs[k].origin)];
    const bool hole = random_.chance(kCellHole);
    if (hole || bin_ < origin.unseen_until || bin_ < dark_until_) values[k] = kNotObserved;
  }
}

}  // namespace outlierd::ctl
