// Constant data, negative data and data of every size: what the factorizer makes of them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/model/streaming_factorizer.h"
#include "tests/support/results.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

const SliceShape kShape = {8, 9};

Slice constant_slice(double value) {
  Slice slice(kShape);
  for (std::size_t cell = 0; cell < slice.values.size(); ++cell) slice.set(cell, value);
  return slice;
}

class ConstantData : public testing::TestWithParam<double> {};

TEST_P(ConstantData, IsOneComponentThatPredictsIt) {
  const double value = GetParam();
  StreamingFactorizer factorizer(kShape, {});
  Learned learned;
  for (int t = 0; t < 40; ++t) learned = factorizer.update(constant_slice(value));
  ASSERT_TRUE(factorizer.warm());
  EXPECT_EQ(learned.status, SliceStatus::kConverged);
  EXPECT_EQ(learned.rank, 1);
  const SliceResult& result = factorizer.projection();
  EXPECT_EQ(result.status, SliceStatus::kConverged);
  for (std::size_t cell = 0; cell < result.expected.size(); ++cell) {
    // The priors shrink by about the square of what they leave as spread, 5e-5 of the value.
    ASSERT_NEAR(result.expected[cell] / value, 1.0, 1e-6);
    ASSERT_LT(result.spread[cell], 1e-3 * std::abs(value));
    ASSERT_GT(result.spread[cell], 0.0);
    ASSERT_EQ(result.sparse[cell], 0.0);
  }
  EXPECT_GT(result.noise_precision, 0.0);  // infinite where 1 / value^2 is
  EXPECT_TRUE(StreamingFactorizer::restore(factorizer.save(), kShape, {}));
}

INSTANTIATE_TEST_SUITE_P(, ConstantData,
                         testing::Values(1.0, -3.0, 1e-30, 1e30, -1e30, 1e150, 1e-150, 1e-300));

// Beyond what can be squared, and below what can be normalised.
TEST(ValuesAtTheEndsOfTheRange, AreRefusedOrNeverWarmUp) {
  StreamingFactorizer large(kShape, {});
  for (int t = 0; t < 25; ++t)
    EXPECT_EQ(large.update(constant_slice(1e300)).status, SliceStatus::kBadInput);
  EXPECT_EQ(large.slices_learned(), 0);

  const double denormal = std::numeric_limits<double>::denorm_min();
  StreamingFactorizer small(kShape, {});
  for (int t = 0; t < 25; ++t)
    EXPECT_EQ(small.update(constant_slice(denormal)).status, SliceStatus::kWarmingUp);
  EXPECT_TRUE(StreamingFactorizer::restore(small.save(), kShape, {}));
}

class AnyScale : public testing::TestWithParam<double> {};

TEST_P(AnyScale, IsLearnedAsWellAsAnyOther) {
  const auto stream = test::synthetic_stream(
      {.shape = kShape, .slices = 50, .rank = 2, .scale = GetParam(), .seed = 2});
  StreamingFactorizer factorizer(kShape, {});
  Learned learned;
  for (const Slice& slice : stream.slices) learned = factorizer.update(slice);
  EXPECT_EQ(learned.rank, 2);
  // One window of 1440 cells, less what 80 parameters explain: a few percent.
  EXPECT_NEAR(learned.noise_precision * stream.sigma * stream.sigma, 1.0, 0.2);
  EXPECT_LT(test::relative_error(factorizer.projection().expected, stream.low_rank.back()), 0.1);
}

INSTANTIATE_TEST_SUITE_P(, AnyScale, testing::Values(1.0, 1e-30, 1e30, 1e-150, 1e150));

// Some cells a million times larger than others, as in any network.
TEST(ValuesOfAllSizes, StandSideBySide) {
  auto stream = test::synthetic_stream({.shape = kShape, .slices = 40, .rank = 2, .seed = 4});
  StreamingFactorizer factorizer(kShape, {});
  for (Slice& slice : stream.slices) {
    for (std::size_t cell = 0; cell < slice.values.size(); ++cell)
      slice.values[cell] *= cell / 9 == 0 ? 1e30 : cell / 9 == 1 ? 1e-30 : 1.0;
    const SliceStatus status = factorizer.update(slice).status;
    EXPECT_NE(status, SliceStatus::kBadInput);
    EXPECT_NE(status, SliceStatus::kNumericalFailure);
  }
  for (double expected : factorizer.projection().expected) EXPECT_TRUE(std::isfinite(expected));
}

// Multiplying by -1 is exact in every operation, and the median of an odd number of slices is that
// of their negatives: only the sign of one factor changes.
TEST(NegativeValues, AreLearnedLikeAnyOther) {
  const auto stream = test::synthetic_stream(
      {.shape = kShape, .slices = 50, .rank = 2, .outlier_share = 0.05, .seed = 5});
  FactorizerOptions options;
  options.window = options.cold_start_slices = 21;
  StreamingFactorizer factorizer(kShape, options), negative(kShape, options);
  for (const Slice& slice : stream.slices) {
    Slice negated = slice;
    for (double& value : negated.values) value = -value;
    EXPECT_TRUE(test::same(factorizer.update(slice), negative.update(negated)));
    if (factorizer.projection().status == SliceStatus::kWarmingUp) continue;
    for (std::size_t cell = 0; cell < slice.values.size(); ++cell) {
      ASSERT_EQ(factorizer.projection().expected[cell], -negative.projection().expected[cell]);
      ASSERT_EQ(factorizer.projection().sparse[cell], -negative.projection().sparse[cell]);
    }
  }
}

}  // namespace
}  // namespace outlierd::model
