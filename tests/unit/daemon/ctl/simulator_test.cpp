#include "daemon/ctl/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace outlierd::ctl {
namespace {

constexpr EpochSeconds kMonday = 1704067200;  // 2024-01-01T00:00:00Z

struct Traffic {
  std::vector<EpochSeconds> times;
  std::vector<std::vector<double>> rows;
  std::size_t left_out = 0;
};

Traffic simulated(const SimulatorOptions& options) {
  Simulator simulator(options);
  Traffic result;
  EpochSeconds time = 0;
  std::vector<double> values;
  for (Simulator::Bin bin; (bin = simulator.next(time, values)) != Simulator::Bin::kNoMore;) {
    if (bin == Simulator::Bin::kLeftOut) {
      ++result.left_out;
      continue;
    }
    result.times.push_back(time);
    result.rows.push_back(values);
  }
  return result;
}

SimulatorOptions weeks(int count, std::uint64_t seed = 5) {
  SimulatorOptions options;
  options.bins = std::size_t(count) * 2016;
  options.seed = seed;
  options.start = kMonday;
  return options;
}

double mean_total(const Traffic& traffic, auto&& wanted) {
  double sum = 0.0, count = 0.0;
  for (std::size_t k = 0; k < traffic.rows.size(); ++k) {
    if (!wanted(traffic.times[k])) continue;
    for (double value : traffic.rows[k]) sum += std::isnan(value) ? 0.0 : value;
    ++count;
  }
  return sum / count;
}

// NaN is like NaN.
bool same(const Traffic& a, const Traffic& b) {
  if (a.times != b.times || a.left_out != b.left_out) return false;
  for (std::size_t k = 0; k < a.rows.size(); ++k)
    for (std::size_t c = 0; c < a.rows[k].size(); ++c)
      if (a.rows[k][c] != b.rows[k][c] && !(std::isnan(a.rows[k][c]) && std::isnan(b.rows[k][c])))
        return false;
  return true;
}

TEST(Simulator, GivesTheSameTrafficForTheSameSeedAndOtherForAnother) {
  SimulatorOptions options = weeks(1);
  options.bins = 500;
  EXPECT_TRUE(same(simulated(options), simulated(options)));
  SimulatorOptions other = options;
  other.seed = 6;
  EXPECT_FALSE(same(simulated(options), simulated(other)));
}

TEST(Simulator, AsksForNoNodeCountInParticular) {
  for (int nodes : {1, 2, 40}) {
    SimulatorOptions options = weeks(1);
    options.nodes = nodes;
    options.bins = 20;
    const Traffic result = simulated(options);
    ASSERT_FALSE(result.rows.empty());
    EXPECT_EQ(result.rows[0].size(), std::size_t(nodes * nodes));
    const Simulator simulator(options);
    const auto& names = simulator.columns().nodes;
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), std::size_t(nodes));
  }
}

TEST(Simulator, SendsWhatANodeIsSaidToSend) {
  const Traffic result = simulated(weeks(2));
  // 200 Mbit/s a node: 12 x 200e6 / 8 x 300 s = 9e10 bytes a bin; pairs scatter around gravity by
  // a lognormal factor whose mean is exp(0.18) = 1.2, and few large pairs carry the most.
  const double total = mean_total(result, [](EpochSeconds) { return true; });
  EXPECT_GT(total, 0.5 * 9e10);
  EXPECT_LT(total, 2.0 * 9e10);
}

TEST(Simulator, HasDaysAndWeeks) {
  const Traffic result = simulated(weeks(4));
  const auto hour = [](EpochSeconds time) { return time % 86400 / 3600; };
  const double busy =
      mean_total(result, [&](EpochSeconds t) { return hour(t) >= 18 && hour(t) < 22; });
  const double quiet =
      mean_total(result, [&](EpochSeconds t) { return hour(t) >= 6 && hour(t) < 10; });
  EXPECT_GT(busy, 1.4 * quiet);
  const auto weekend = [](EpochSeconds t) { return (t - kMonday) / 86400 % 7 >= 5; };
  EXPECT_LT(mean_total(result, weekend),
            0.92 * mean_total(result, [&](EpochSeconds t) { return !weekend(t); }));
}

TEST(Simulator, LeavesHolesOfEveryKindButNotMany) {
  const Traffic result = simulated(weeks(12));
  std::size_t holes = 0, rows_without_any = 0, lone = 0, cells = 0;
  for (const auto& row : result.rows) {
    const auto missing =
        std::size_t(std::count_if(row.begin(), row.end(), [](double v) { return std::isnan(v); }));
    holes += missing;
    cells += row.size();
    rows_without_any += missing == row.size();
    lone += missing == 1;
  }
  EXPECT_GT(rows_without_any, 0u);
  EXPECT_GT(result.left_out, 0u);
  EXPECT_GT(lone, 10u);
  EXPECT_GT(double(holes) / double(cells), 1e-4);
  EXPECT_LT(double(holes) / double(cells), 0.01);
  SimulatorOptions whole = weeks(1);
  whole.holes = false;
  const Traffic full = simulated(whole);
  EXPECT_EQ(full.rows.size(), whole.bins);
  for (const auto& row : full.rows)
    for (double value : row) ASSERT_TRUE(std::isfinite(value));
}

TEST(Simulator, KeepsSelfPairsSmallAndEveryValueAWholeNumberOfBytes) {
  const SimulatorOptions options = weeks(1);
  const Traffic result = simulated(options);
  const std::vector<Pair> pairs = Simulator(options).columns().pairs;
  double self = 0.0, all = 0.0;
  for (const auto& row : result.rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (std::isnan(row[c])) continue;
      ASSERT_GE(row[c], 0.0);
      ASSERT_EQ(row[c], std::round(row[c]));
      all += row[c];
      if (pairs[c].origin == pairs[c].destination) self += row[c];
    }
  EXPECT_LT(self, 0.02 * all);
}

// Of the bin-to-bin steps, in robust spreads: normal noise would have none beyond 8.
TEST(Simulator, HasHeavyTailsAsRealTrafficHas) {
  SimulatorOptions options = weeks(2);
  options.holes = false;
  const Traffic result = simulated(options);
  std::size_t jumps = 0;
  for (std::size_t c = 0; c < result.rows[0].size(); ++c) {
    std::vector<double> steps;
    for (std::size_t k = 1; k < result.rows.size(); ++k)
      steps.push_back(std::abs(result.rows[k][c] - result.rows[k - 1][c]));
    std::vector<double> sorted = steps;
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(sorted.size() / 2),
                     sorted.end());
    const double spread = 1.4826 * sorted[sorted.size() / 2];
    if (spread > 0)
      jumps += std::size_t(
          std::count_if(steps.begin(), steps.end(), [&](double s) { return s > 8 * spread; }));
  }
  const double a_day = double(jumps) / 14.0;
  EXPECT_GT(a_day, 20);  // measured networks: 50 to 150
  EXPECT_LT(a_day, 400);
}

TEST(Simulator, BurstsOnATimetable) {
  SimulatorOptions options = weeks(2);
  options.holes = false;
  const Traffic result = simulated(options);
  // A pair on a 90-minute timetable correlates with itself 18 bins later far more than 9 later.
  std::size_t regular = 0;
  for (std::size_t c = 0; c < result.rows[0].size(); ++c) {
    std::vector<double> x;
    for (const auto& row : result.rows) x.push_back(row[c]);
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
    const auto correlation = [&](std::size_t lag) {
      double both = 0.0, own = 0.0;
      for (std::size_t k = lag; k < x.size(); ++k) {
        both += (x[k] - mean) * (x[k - lag] - mean);
        own += (x[k] - mean) * (x[k] - mean);
      }
      return own > 0 ? both / own : 0.0;
    };
    for (std::size_t period : {18u, 72u, 288u})
      if (correlation(period) > correlation(period / 2) + 0.35 && period < 288) ++regular;
  }
  EXPECT_GE(regular, 1u);
}

TEST(Simulator, KnowsItsOwnLevels) {
  SimulatorOptions options = weeks(2);
  options.holes = false;
  const Traffic result = simulated(options);
  const TrafficLevels measured = measure_levels(result.rows, result.rows[0].size());
  const TrafficLevels built_in = Simulator(options).levels();
  // The median of a cycle lies a little beside its mean; both are used to size incidents only.
  EXPECT_NEAR(built_in.total / measured.total, 1.0, 0.25);
  for (std::size_t c = 0; c < measured.median.size(); ++c)
    if (built_in.median[c] > 0) {
      EXPECT_NEAR(built_in.median[c] / measured.median[c], 1.0, 0.4);
    }
}

}  // namespace
}  // namespace outlierd::ctl
