// How the factorizer learns a stream: spikes, new levels, new components, any shape, any threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/model/streaming_factorizer.h"
#include "tests/support/results.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

using test::same;

const SliceShape kShape = {8, 9};
constexpr std::size_t kCell = 13;

const test::SyntheticStream& stream() {
  static const test::SyntheticStream made = test::synthetic_stream(
      {.shape = kShape, .slices = 120, .rank = 2, .smooth = true, .seed = 3});
  return made;
}

StreamingFactorizer warm_factorizer(int slices = 30, FactorizerOptions options = {}) {
  StreamingFactorizer factorizer(kShape, options);
  for (int t = 0; t < slices; ++t) factorizer.update(stream().slices[t]);
  EXPECT_TRUE(factorizer.warm());
  return factorizer;
}

// Slice t with one cell moved by so many sigmas of the noise.
Slice moved(int t, double sigmas) {
  Slice slice = stream().slices[t];
  slice.set(kCell, slice.values[kCell] + sigmas * stream().sigma);
  return slice;
}

bool is_flagged(const StreamingFactorizer& factorizer) {
  return factorizer.projection().sparse[kCell] != 0.0;
}

TEST(Spike, OfOneSliceIsTakenOutAndHarmsNothing) {
  // A counter that wrapped, 2^64, is about 2e20 sigmas here.
  for (double sigmas : {10.0, -10.0, 100.0, 1e6, 1e12, 2e20, 1e100}) {
    StreamingFactorizer factorizer = warm_factorizer(), quiet = warm_factorizer();
    factorizer.update(moved(30, sigmas));
    quiet.update(stream().slices[30]);
    const SliceResult spiked = factorizer.projection();
    EXPECT_NEAR(spiked.sparse[kCell] / (sigmas * stream().sigma), 1.0, 0.5) << sigmas;
    // Of the spike, M10 leaves 1 / z of a sigma at most: what is expected of that very slice, and
    // of the next, may move by a fraction of the noise.
    for (std::size_t cell = 0; cell < spiked.expected.size(); ++cell)
      ASSERT_NEAR(spiked.expected[cell], quiet.projection().expected[cell], 0.5 * stream().sigma)
          << sigmas << " sigmas, cell " << cell;
    for (int t = 31; t < 34; ++t) {
      factorizer.update(stream().slices[t]);
      quiet.update(stream().slices[t]);
      for (std::size_t cell = 0; cell < spiked.expected.size(); ++cell)
        ASSERT_NEAR(factorizer.projection().expected[cell], quiet.projection().expected[cell],
                    0.5 * stream().sigma)
            << sigmas << " sigmas, slice " << t << ", cell " << cell;
      EXPECT_FALSE(is_flagged(factorizer));
    }
  }
}

TEST(NewLevel, IsFlaggedSoManySlicesAndThenLearned) {
  for (int level_slices : {1, 3, 6}) {
    FactorizerOptions options;
    options.level_slices = level_slices;
    StreamingFactorizer factorizer = warm_factorizer(30, options);
    for (int t = 30; t < 60; ++t) {
      factorizer.update(moved(t, 30.0));
      EXPECT_EQ(is_flagged(factorizer), t < 30 + level_slices)
          << "slice " << t << " of a level held for " << level_slices;
    }
    // Learned: no further off than noise is, where it was off by 30 sigmas.
    EXPECT_NEAR(factorizer.projection().expected[kCell], moved(59, 30.0).values[kCell],
                4.0 * stream().sigma);
  }
}

TEST(NewLevel, CountsStartAgainWhenTheCellWasBack) {
  FactorizerOptions options;
  options.level_slices = 4;
  StreamingFactorizer factorizer = warm_factorizer(30, options);
  const bool away[] = {true, true, true, false, true, true, true, true, true};
  for (int k = 0; k < 9; ++k) {
    factorizer.update(away[k] ? moved(30 + k, 30.0) : stream().slices[30 + k]);
    EXPECT_EQ(is_flagged(factorizer), away[k] && k < 8) << k;  // four in a row, then learned
  }
}

TEST(NewLevel, CountsWaitWhileTheCellIsNotObserved) {
  FactorizerOptions options;
  options.level_slices = 4;
  StreamingFactorizer factorizer = warm_factorizer(30, options);
  const bool seen[] = {true, true, false, false, true, false, true, true};
  for (int k = 0; k < 8; ++k) {
    Slice slice = moved(30 + k, 30.0);
    if (!seen[k]) slice.hide(kCell);
    factorizer.update(slice);
    EXPECT_EQ(is_flagged(factorizer), seen[k] && k < 7) << k;
  }
}

TEST(Sparse, IsOffWhenNotWanted) {
  FactorizerOptions options;
  options.sparse = false;
  StreamingFactorizer factorizer = warm_factorizer(30, options);
  factorizer.update(moved(30, 100.0));
  for (double sparse : factorizer.projection().sparse) EXPECT_EQ(sparse, 0.0);
  for (double spread : factorizer.projection().sparse_spread) EXPECT_EQ(spread, 0.0);
  // The spike has nowhere else to go: it pulls what is expected along.
  EXPECT_GT(std::abs(factorizer.projection().expected[kCell] - stream().low_rank[30][kCell]),
            2.0 * stream().sigma);
}

TEST(Threshold, IsWhereItWasAskedFor) {
  for (double sigmas : {3.0, 4.0, 6.0}) {
    FactorizerOptions options;
    options.outlier_sigmas = sigmas;
    StreamingFactorizer factorizer = warm_factorizer(30, options);
    const SliceResult plain = factorizer.project(stream().slices[30]);
    const double sigma = 1.0 / std::sqrt(plain.noise_precision);
    Slice slice = stream().slices[30];
    // c moves a little with the cell, by its leverage: a tenth here.
    slice.set(kCell, plain.expected[kCell] + 0.9 * sigmas * sigma);
    EXPECT_EQ(factorizer.project(slice).sparse[kCell], 0.0) << sigmas;
    slice.set(kCell, plain.expected[kCell] + 1.2 * sigmas * sigma);
    EXPECT_NE(factorizer.project(slice).sparse[kCell], 0.0) << sigmas;
  }
}

TEST(Rank, NeverExceedsItsCap) {
  for (int cap : {1, 2}) {
    const auto rich = test::synthetic_stream({.shape = kShape, .slices = 60, .rank = 4, .seed = 8});
    FactorizerOptions options;
    options.max_rank = cap;
    StreamingFactorizer factorizer(kShape, options);
    for (const Slice& slice : rich.slices) {
      const Learned learned = factorizer.update(slice);
      EXPECT_LE(learned.rank, cap);
      EXPECT_NE(learned.status, SliceStatus::kNumericalFailure);
    }
    EXPECT_TRUE(factorizer.warm());
    for (double expected : factorizer.projection().expected) EXPECT_TRUE(std::isfinite(expected));
  }
}

TEST(ColdStart, ComesWithTheWindowFullWhenThatIsSmaller) {
  FactorizerOptions options;
  options.window = 8;
  StreamingFactorizer factorizer(kShape, options);
  for (int t = 0; t < 60; ++t) {
    factorizer.update(stream().slices[t]);
    EXPECT_EQ(factorizer.warm(), t >= 7) << t;
    if (t > 20) {
      EXPECT_LT(test::relative_error(factorizer.projection().expected, stream().low_rank[t]), 0.1);
    }
  }
}

TEST(ColdStart, MayComeBeforeTheWindowIsFull) {
  FactorizerOptions options;
  options.cold_start_slices = 6;
  StreamingFactorizer factorizer(kShape, options);
  for (int t = 0; t < 60; ++t) {
    factorizer.update(stream().slices[t]);
    EXPECT_EQ(factorizer.warm(), t >= 5) << t;
    if (t > 20) {
      EXPECT_LT(test::relative_error(factorizer.projection().expected, stream().low_rank[t]), 0.1);
    }
  }
}

TEST(ColdStart, WaitsWhileThereIsOnlyNoise) {
  auto noise = test::synthetic_stream({.shape = kShape, .slices = 60, .rank = 1, .noise_db = 60});
  StreamingFactorizer factorizer(kShape, {});
  for (const Slice& slice : noise.slices)
    EXPECT_EQ(factorizer.update(slice).status, SliceStatus::kWarmingUp);
  for (int t = 0; t < 60; ++t) factorizer.update(stream().slices[t]);
  EXPECT_TRUE(factorizer.warm());
}

// A component that comes later is seeded from the residual; a dead one could not grow by itself.
TEST(Reseeding, PicksUpANewComponentWithinTwoWindows) {
  const auto late = test::synthetic_stream(
      {.shape = kShape, .slices = 120, .rank = 1, .smooth = true, .seed = 9});
  StreamingFactorizer factorizer(kShape, {});
  for (int t = 0; t < 120; ++t) {
    Slice slice = stream().slices[t];
    std::vector<double> truth = stream().low_rank[t];
    for (std::size_t cell = 0; t >= 50 && cell < truth.size(); ++cell) {
      slice.values[cell] += late.low_rank[t][cell];
      truth[cell] += late.low_rank[t][cell];
    }
    const Learned learned = factorizer.update(slice);
    if (t >= 25 && t < 50) {
      EXPECT_EQ(learned.rank, 2) << t;
    }
    if (t >= 90) {
      EXPECT_GE(learned.rank, 3) << t;
      EXPECT_LT(test::relative_error(factorizer.projection().expected, truth), 0.1) << t;
    }
  }
}

struct Shape {
  std::string name;
  SliceShape shape;
  int rank;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class AnyShape : public testing::TestWithParam<Shape> {};

TEST_P(AnyShape, IsLearned) {
  for (double missing : {0.0, 0.3}) {
    const auto made = test::synthetic_stream({.shape = GetParam().shape,
                                              .slices = 60,
                                              .rank = GetParam().rank,
                                              .missing_share = missing,
                                              .seed = 4});
    StreamingFactorizer factorizer(GetParam().shape, {});
    double error = 0.0;
    for (int t = 0; t < 60; ++t) {
      factorizer.update(made.slices[t]);
      if (t >= 40)
        error += test::relative_error(factorizer.projection().expected, made.low_rank[t]) / 20;
    }
    ASSERT_TRUE(factorizer.warm());
    EXPECT_EQ(factorizer.projection().rank, GetParam().rank) << "missing " << missing;
    EXPECT_LT(error, 0.1) << "missing " << missing;  // no worse than the noise of the data
  }
}

INSTANTIATE_TEST_SUITE_P(, AnyShape,
                         testing::Values(Shape{"OneWay", {30}, 1}, Shape{"TwoWay", {15, 12}, 3},
                                         Shape{"Wide", {4, 60}, 2}, Shape{"Tall", {70, 5}, 2},
                                         Shape{"ThreeWay", {10, 9, 4}, 3},
                                         Shape{"FourWay", {7, 6, 4, 3}, 2}),
                         [](const auto& shape) { return shape.param.name; });

TEST(DegenerateShapes, OfOneNodeHaveADefinedOutcome) {
  for (const SliceShape& shape : {SliceShape{1}, SliceShape{1, 1}, SliceShape{1, 1, 1},
                                  SliceShape{5, 1}, SliceShape{1, 5}, SliceShape{3, 1, 2}}) {
    const auto made = test::synthetic_stream({.shape = shape, .slices = 50, .smooth = true});
    StreamingFactorizer factorizer(shape, {});
    for (const Slice& slice : made.slices) {
      const SliceStatus status = factorizer.update(slice).status;
      EXPECT_NE(status, SliceStatus::kBadInput);
      EXPECT_NE(status, SliceStatus::kNumericalFailure);
    }
  }
}

class ThreadCount : public testing::TestWithParam<double> {};

TEST_P(ThreadCount, ChangesNotOneBit) {
  const SliceShape shape = {120, 130};
  const auto made = test::synthetic_stream({.shape = shape,
                                            .slices = 14,
                                            .rank = 4,
                                            .outlier_share = 0.01,
                                            .missing_share = GetParam(),
                                            .seed = 6});
  std::vector<StreamingFactorizer> factorizers;
  for (int threads : {1, 2, 3}) {
    FactorizerOptions options;
    options.threads = threads;
    options.window = 10;
    options.cold_sweeps = 10;
    options.reseed_slices = 1;
    factorizers.emplace_back(shape, options);
  }
  for (const Slice& slice : made.slices) {
    const Learned alone = factorizers[0].update(slice);
    for (std::size_t k : {1u, 2u}) {
      EXPECT_TRUE(same(factorizers[k].update(slice), alone));
      EXPECT_TRUE(same(factorizers[k].projection(), factorizers[0].projection()));
    }
  }
  ASSERT_TRUE(factorizers[0].warm());
  EXPECT_TRUE(factorizers[1].save() == factorizers[0].save());
  EXPECT_TRUE(factorizers[2].save() == factorizers[0].save());
}

INSTANTIATE_TEST_SUITE_P(, ThreadCount, testing::Values(0.0, 0.05, 0.5));

}  // namespace
}  // namespace outlierd::model
