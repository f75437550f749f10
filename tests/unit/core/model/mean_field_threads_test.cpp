// MeanField gives the same bits whatever the number of threads.

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "core/model/mean_field.h"
#include "tests/support/model_bench.h"
#include "tests/support/naive_model.h"
#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::NaiveModel;
using test::Random;
using Bench = test::ModelBench;

struct Setting {
  std::string name;
  SliceShape shape;
  std::vector<double> missing;  // share of cells not observed, slice by slice
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

// Everything MeanField computes, in one row of numbers.
std::vector<double> outcome(const NaiveModel& naive, int threads) {
  Bench bench(naive, threads);
  std::vector<double> numbers;
  const auto keep = [&](const auto& x) { numbers.insert(numbers.end(), x.begin(), x.end()); };
  for (int sweep = 0; sweep < 2; ++sweep) {
    EXPECT_TRUE(bench.field.update_row_mode(bench.q, bench.view));
    EXPECT_TRUE(bench.field.update_column_modes(bench.q, bench.view));
    bench.field.project(bench.q, bench.view);
    EXPECT_TRUE(bench.field.update_time(bench.q, bench.view));
    bench.field.update_component_precision(bench.q, bench.view.size(),
                                           bench.field.component_count(bench.view.size()));
  }
  for (const FactorRows& mode : bench.q.modes) {
    keep(mode.mean);
    keep(mode.moment);
  }
  keep(bench.q.time.mean);
  keep(bench.q.time.moment);
  keep(bench.q.lambda);
  numbers.push_back(bench.field.summarized_error(bench.q, bench.view));

  AlignedDoubles cells(bench.window.layout().padded_cells(), 0.0);
  const int newest = bench.view.size() - 1;
  bench.field.low_rank(bench.q, bench.q.time.mean_of(newest), cells.data());
  keep(cells);
  bench.field.low_rank_squares(bench.q, bench.q.time.moment_of(newest), cells.data());
  keep(cells);
  bench.field.residual(bench.q, bench.view.newest(), bench.q.time.mean_of(newest), cells.data());
  keep(cells);
  return numbers;
}

class ThreadsTest : public testing::TestWithParam<std::tuple<Setting, int>> {};

TEST_P(ThreadsTest, AnyNumberOfThemGivesTheSameBits) {
  const auto& [setting, rank] = GetParam();
  Random random(5);
  const NaiveModel naive = test::random_model(setting.shape, rank, 0.9, setting.missing, random);
  const std::vector<double> alone = outcome(naive, 1);
  for (double number : alone) ASSERT_TRUE(std::isfinite(number));
  EXPECT_EQ(outcome(naive, 2), alone);
  EXPECT_EQ(outcome(naive, 3), alone);
}

const std::vector<double> kFull(6, 0.0);
const std::vector<double> kMasked = {0, 0.1, 0.6, 0.1, 0, 0.3};
const std::vector<double> kManyMasked(20, 0.2);

// 130 x 150 x 6 at rank 5 splits the passes over the ring; the last two also split what is done row
// by row and slice by slice.
INSTANTIATE_TEST_SUITE_P(
    , ThreadsTest,
    testing::Values(std::tuple{Setting{"Full", {130, 150}, kFull}, 5},
                    std::tuple{Setting{"Masked", {130, 150}, kMasked}, 5},
                    std::tuple{Setting{"ThreeWayMasked", {130, 15, 10}, kMasked}, 5},
                    std::tuple{Setting{"WideFull", {260, 221}, std::vector<double>(20, 0.0)}, 12},
                    std::tuple{Setting{"WideMasked", {260, 221}, kManyMasked}, 12}),
    [](const auto& setting) { return std::get<0>(setting.param).name; });

}  // namespace
}  // namespace outlierd::model
