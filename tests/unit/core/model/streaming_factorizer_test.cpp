// What may come in, and what then comes of it: a defined outcome each.

#include "core/model/streaming_factorizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/results.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

using test::same;

const SliceShape kShape = {8, 9};
constexpr int kCold = 20;  // slices until the first fit, by default
const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

// Two components that move smoothly, noise 20 dB below.
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

Slice constant_slice(double value) {
  Slice slice(kShape);
  for (std::size_t cell = 0; cell < slice.values.size(); ++cell) slice.set(cell, value);
  return slice;
}

bool all_nan(const std::vector<double>& values) {
  for (double value : values)
    if (!std::isnan(value)) return false;
  return true;
}

bool all_finite(const std::vector<double>& values) {
  for (double value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

void expect_unknown(const SliceResult& result) {
  EXPECT_TRUE(all_nan(result.expected) && all_nan(result.spread) && all_nan(result.sparse) &&
              all_nan(result.sparse_spread));
  EXPECT_EQ(result.expected.size(), cell_count(kShape));
}

void expect_known(const SliceResult& result) {
  EXPECT_TRUE(all_finite(result.expected) && all_finite(result.spread) &&
              all_finite(result.sparse) && all_finite(result.sparse_spread))
      << name_of(result.status);
}

// The model predicts about as well as the noise allows.
void expect_good(const StreamingFactorizer& factorizer, int t) {
  expect_known(factorizer.projection());
  // The noise is a tenth of the signal, and no denoised estimate should be worse than its data.
  EXPECT_LT(test::relative_error(factorizer.projection().expected, stream().low_rank[t]), 0.1)
      << "slice " << t;
}

TEST(SliceStatus, HasANameEach) {
  EXPECT_STREQ(name_of(SliceStatus::kConverged), "converged");
  EXPECT_STREQ(name_of(SliceStatus::kIterationLimit), "iteration_limit");
  EXPECT_STREQ(name_of(SliceStatus::kWarmingUp), "warming_up");
  EXPECT_STREQ(name_of(SliceStatus::kNothingObserved), "nothing_observed");
  EXPECT_STREQ(name_of(SliceStatus::kBadInput), "bad_input");
  EXPECT_STREQ(name_of(SliceStatus::kNumericalFailure), "numerical_failure");
  EXPECT_STREQ(name_of(SliceStatus(77)), "unknown");
}

TEST(StreamingFactorizer, WarmsUpForTheSlicesAskedForAndThenPredicts) {
  StreamingFactorizer factorizer(kShape, {});
  for (int t = 0; t < kCold; ++t) {
    EXPECT_FALSE(factorizer.warm());
    EXPECT_EQ(factorizer.project(stream().slices[t]).status, SliceStatus::kWarmingUp);
    const Learned learned = factorizer.update(stream().slices[t]);
    EXPECT_EQ(factorizer.projection().status, SliceStatus::kWarmingUp);
    expect_unknown(factorizer.projection());
    EXPECT_EQ(learned.status, t + 1 < kCold ? SliceStatus::kWarmingUp : SliceStatus::kConverged);
    EXPECT_EQ(factorizer.slices_learned(), t + 1);
    if (t + 1 < kCold) {
      EXPECT_EQ(learned.rank, 0);
      EXPECT_TRUE(std::isnan(factorizer.evidence_bound()));
      EXPECT_TRUE(factorizer.component_strengths().empty());
    }
  }
  EXPECT_TRUE(factorizer.warm());
  EXPECT_TRUE(std::isfinite(factorizer.evidence_bound()));
  factorizer.update(stream().slices[kCold]);
  expect_good(factorizer, kCold);
  EXPECT_EQ(factorizer.shape(), kShape);
  EXPECT_EQ(factorizer.options().window, 20);
}

TEST(StreamingFactorizer, ProjectingLearnsNothing) {
  StreamingFactorizer factorizer = warm_factorizer();
  const std::vector<std::byte> before = factorizer.save();
  const SliceResult first = factorizer.project(stream().slices[30]);
  EXPECT_EQ(factorizer.save(), before);
  factorizer.project(stream().slices[77]);
  EXPECT_TRUE(same(factorizer.project(stream().slices[30]), first));
  factorizer.update(stream().slices[30]);
  EXPECT_TRUE(same(factorizer.projection(), first)) << "update() projects first";
}

TEST(StreamingFactorizer, FittedIsTheNewestSliceAfterLearning) {
  StreamingFactorizer factorizer(kShape, {});
  factorizer.update(stream().slices[0]);
  expect_unknown(factorizer.fitted());
  for (int t = 1; t < 35; ++t) {
    factorizer.update(stream().slices[t]);
    if (!factorizer.warm()) continue;
    const SliceResult& fitted = factorizer.fitted();
    expect_known(fitted);
    EXPECT_LT(test::relative_error(fitted.expected, stream().low_rank[t]), 0.1);
  }
  EXPECT_EQ(factorizer.component_strengths().size(), 2u);
  EXPECT_GT(factorizer.component_strengths()[0], factorizer.component_strengths()[1]);
}

TEST(StreamingFactorizer, ComponentsAreUnitVectorsOfEachModeStrongestFirst) {
  StreamingFactorizer factorizer(kShape, {});
  EXPECT_TRUE(factorizer.components().empty());
  for (int t = 0; t < 35; ++t) factorizer.update(stream().slices[t]);
  const auto components = factorizer.components();
  const auto strengths = factorizer.component_strengths();
  ASSERT_EQ(components.size(), strengths.size());
  for (std::size_t r = 0; r < components.size(); ++r) {
    EXPECT_EQ(components[r].strength, strengths[r]);
    ASSERT_EQ(components[r].loadings.size(), kShape.size());
    for (std::size_t mode = 0; mode < kShape.size(); ++mode) {
      ASSERT_EQ(int(components[r].loadings[mode].size()), kShape[mode]);
      double squares = 0.0;
      for (double loading : components[r].loadings[mode]) squares += loading * loading;
      EXPECT_NEAR(squares, 1.0, 1e-12);
    }
  }
}

// Each is refused: a status, no prediction, and not one byte of the state is another.
TEST(StreamingFactorizer, BadInputIsRefusedAndLeavesNoTrace) {
  std::vector<std::pair<std::string, Slice>> bad;
  const Slice& good = stream().slices[30];
  bad.emplace_back("another shape", Slice({9, 8}));
  bad.emplace_back("more modes", Slice({8, 9, 1}));
  bad.emplace_back("no shape", Slice());
  bad.emplace_back("values missing", good).second.values.pop_back();
  bad.emplace_back("values too many", good).second.values.push_back(0.0);
  bad.emplace_back("mask missing", good).second.observed.pop_back();
  bad.emplace_back("NaN", good).second.set(5, kNaN);
  bad.emplace_back("infinity", good).second.set(0, kInfinity);
  bad.emplace_back("minus infinity", good).second.set(71, -kInfinity);
  bad.emplace_back("a square beyond every number", good).second.set(5, 1e308);
  for (int slices : {0, 7, kCold, 30}) {
    StreamingFactorizer factorizer(kShape, {});
    for (int t = 0; t < slices; ++t) factorizer.update(stream().slices[t]);
    const std::vector<std::byte> before = factorizer.save();
    for (const auto& [name, slice] : bad) {
      EXPECT_EQ(factorizer.project(slice).status, SliceStatus::kBadInput) << name;
      EXPECT_EQ(factorizer.update(slice).status, SliceStatus::kBadInput) << name;
      EXPECT_EQ(factorizer.projection().status, SliceStatus::kBadInput) << name;
      expect_unknown(factorizer.projection());
      EXPECT_EQ(factorizer.slices_learned(), slices);
      EXPECT_TRUE(factorizer.save() == before) << name << " after " << slices;
    }
    // And the stream goes on as if nothing had been.
    StreamingFactorizer other(kShape, {});
    for (int t = 0; t < slices; ++t) other.update(stream().slices[t]);
    for (int t = slices; t < slices + 25; ++t) {
      EXPECT_TRUE(same(factorizer.update(stream().slices[t]), other.update(stream().slices[t])));
      EXPECT_TRUE(same(factorizer.projection(), other.projection()));
    }
    EXPECT_TRUE(factorizer.save() == other.save());
  }
}

// With or without a sparse part to take it out, no spike is too large for the model.
TEST(StreamingFactorizer, ASpikeOfAnySizeLeavesAModelBehind) {
  for (bool sparse : {true, false})
    for (int power = 20; power <= 152; power += 12) {
      FactorizerOptions options;
      options.sparse = sparse;
      StreamingFactorizer factorizer = warm_factorizer(30, options);
      Slice spike = stream().slices[30];
      spike.set(5, std::pow(10.0, power));
      const Learned learned = factorizer.update(spike);
      EXPECT_GE(learned.rank, 1) << "1e" << power;
      EXPECT_NEAR(factorizer.projection().sparse[5] / spike.values[5], 1.0, 1e-6);
      expect_known(factorizer.project(stream().slices[31]));
      EXPECT_TRUE(StreamingFactorizer::restore(factorizer.save(), kShape, options));
    }
}

TEST(StreamingFactorizer, NothingObservedChangesNothingForHoweverLong) {
  for (int slices : {5, 30}) {
    StreamingFactorizer factorizer(kShape, {}), other(kShape, {});
    for (int t = 0; t < slices; ++t) {
      factorizer.update(stream().slices[t]);
      other.update(stream().slices[t]);
    }
    Slice nothing = stream().slices[50];
    for (std::size_t cell = 0; cell < nothing.values.size(); ++cell) nothing.hide(cell);
    const std::vector<std::byte> before = factorizer.save();
    for (int t = 0; t < 24; ++t) {  // two hours of five-minute bins: more than the window
      EXPECT_EQ(factorizer.update(nothing).status, SliceStatus::kNothingObserved);
      EXPECT_EQ(factorizer.projection().status, SliceStatus::kNothingObserved);
      if (factorizer.warm()) {
        expect_known(factorizer.projection());
      } else {
        expect_unknown(factorizer.projection());
      }
    }
    EXPECT_TRUE(factorizer.save() == before);
    EXPECT_EQ(factorizer.slices_learned(), slices);
    for (int t = slices; t < slices + 20; ++t) {
      factorizer.update(stream().slices[t]);
      other.update(stream().slices[t]);
      EXPECT_TRUE(same(factorizer.projection(), other.projection()));
    }
  }
}

// The best guess of a slice of which nothing is known is the one before it.
TEST(StreamingFactorizer, OfASliceNotObservedTheOneBeforeIsExpected) {
  StreamingFactorizer factorizer = warm_factorizer();
  const SliceResult fitted = factorizer.fitted();
  const SliceResult& projected = factorizer.project(Slice(kShape));
  EXPECT_EQ(projected.expected, fitted.expected);
  EXPECT_EQ(projected.spread, fitted.spread);
  for (double sparse : projected.sparse) EXPECT_EQ(sparse, 0.0);
}

TEST(StreamingFactorizer, ASingleObservedCellIsEnoughForASlice) {
  StreamingFactorizer factorizer = warm_factorizer();
  for (int t = 30; t < 40; ++t) {
    Slice slice(kShape);
    const auto cell = std::size_t(7 * t) % slice.values.size();
    slice.set(cell, stream().slices[t].values[cell]);
    const Learned learned = factorizer.update(slice);
    EXPECT_TRUE(learned.status == SliceStatus::kConverged ||
                learned.status == SliceStatus::kIterationLimit);
    expect_known(factorizer.projection());
    const SliceResult single = factorizer.projection();
    EXPECT_NEAR(single.expected[cell], slice.values[cell], 5.0 * single.spread[cell]);
    // Less is known of the others than when all is observed.
    const std::size_t other = (cell + 11) % slice.values.size();
    EXPECT_GT(single.spread[other], factorizer.project(stream().slices[t]).spread[other]);
  }
  EXPECT_EQ(factorizer.slices_learned(), 40);
  factorizer.update(stream().slices[40]);
  expect_good(factorizer, 40);
}

TEST(StreamingFactorizer, AllZeroSlicesAreGatheredUntilTrafficComes) {
  StreamingFactorizer factorizer(kShape, {});
  for (int t = 0; t < 45; ++t) {
    EXPECT_EQ(factorizer.update(constant_slice(0.0)).status, SliceStatus::kWarmingUp);
    expect_unknown(factorizer.projection());
  }
  EXPECT_FALSE(factorizer.warm());
  for (int t = 0; t < 60; ++t) {
    const Learned learned = factorizer.update(stream().slices[t]);
    EXPECT_NE(learned.status, SliceStatus::kNumericalFailure);
    EXPECT_NE(learned.status, SliceStatus::kBadInput);
  }
  EXPECT_TRUE(factorizer.warm());
  expect_good(factorizer, 59);
}

TEST(StreamingFactorizer, AnAllZeroSliceIsLearnedLikeAnyOther) {
  StreamingFactorizer factorizer = warm_factorizer();
  const Learned learned = factorizer.update(constant_slice(0.0));
  EXPECT_TRUE(learned.status == SliceStatus::kConverged ||
              learned.status == SliceStatus::kIterationLimit);
  // Nothing everywhere is c = 0, which the factors can say: no outliers.
  for (double expected : factorizer.projection().expected) EXPECT_EQ(expected, 0.0);
  for (double sparse : factorizer.projection().sparse) EXPECT_EQ(sparse, 0.0);
  factorizer.update(stream().slices[31]);
  expect_good(factorizer, 31);
}

// A network that is dark for longer than the window and comes back.
TEST(StreamingFactorizer, RecoversFromAWindowOfZeros) {
  StreamingFactorizer factorizer = warm_factorizer();
  for (int t = 0; t < 50; ++t) {
    const Learned learned = factorizer.update(constant_slice(0.0));
    EXPECT_EQ(learned.status, SliceStatus::kConverged);
    expect_known(factorizer.projection());
  }
  EXPECT_EQ(factorizer.project(constant_slice(0.0)).rank, 0);
  const auto restored = StreamingFactorizer::restore(factorizer.save(), kShape, {});
  ASSERT_TRUE(restored) << restored.error();
  for (int t = 30; t < 90; ++t) {
    factorizer.update(stream().slices[t]);
    expect_known(factorizer.projection());
  }
  expect_good(factorizer, 89);
}

TEST(StreamingFactorizer, WhatStandsUnderAClosedMaskIsIgnored) {
  StreamingFactorizer factorizer = warm_factorizer(), other = warm_factorizer();
  Slice slice = stream().slices[30], poisoned = slice;
  const double poison[] = {kNaN, kInfinity, -kInfinity, 1e308};
  for (std::size_t k = 0; k < 4; ++k) {
    slice.hide(k * 3);
    poisoned.values[k * 3] = poison[k];
    poisoned.hide(k * 3);
  }
  EXPECT_TRUE(same(factorizer.update(slice), other.update(poisoned)));
  EXPECT_TRUE(same(factorizer.projection(), other.projection()));
  EXPECT_TRUE(factorizer.save() == other.save());
}

// Any byte but zero means observed.
TEST(StreamingFactorizer, AMaskByteIsTrueOrFalse) {
  StreamingFactorizer factorizer = warm_factorizer(), other = warm_factorizer();
  Slice slice = stream().slices[30];
  slice.observed[4] = 255;
  other.update(stream().slices[30]);
  factorizer.update(slice);
  EXPECT_TRUE(same(factorizer.projection(), other.projection()));
}

TEST(StreamingFactorizer, AMovedFactorizerGoesOn) {
  StreamingFactorizer factorizer = warm_factorizer(), other = warm_factorizer();
  StreamingFactorizer moved(std::move(factorizer));
  EXPECT_TRUE(same(moved.update(stream().slices[30]), other.update(stream().slices[30])));
  StreamingFactorizer assigned({2, 2}, {});
  assigned = std::move(moved);
  EXPECT_TRUE(same(assigned.update(stream().slices[31]), other.update(stream().slices[31])));
  EXPECT_TRUE(same(assigned.projection(), other.projection()));
  EXPECT_TRUE(assigned.save() == other.save());
}

}  // namespace
}  // namespace outlierd::model
