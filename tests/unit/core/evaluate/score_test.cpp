// The figures of eval/score.py where they can be worked out by hand.

#include "core/evaluate/score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/evaluate/bootstrap.h"
#include "tests/support/random.h"

namespace outlierd::evaluate {
namespace {

TEST(Alarms, BridgeTwoQuietBinsAndCostOneMoreEveryHour) {
  EXPECT_EQ(alarms({}, 1.0, 12), 0);
  EXPECT_EQ(alarms(std::vector<double>{0, 2, 0, 0, 2, 0, 0, 0, 2}, 1.0, 12), 2);
  EXPECT_EQ(alarms(std::vector<double>(13, 2.0), 1.0, 12), 2);
  EXPECT_EQ(alarms(std::vector<double>(12, 2.0), 1.0, 12), 1);
  EXPECT_EQ(alarms(std::vector<double>(12, 1.0), 1.0, 12), 0);  // not over it
}

TEST(Threshold, IsTheLowestPeakWithinTheBudget) {
  const std::vector<double> peaks = {5, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2};
  EXPECT_EQ(threshold_for(peaks, 2.0, 12), 3.0);
  EXPECT_EQ(threshold_for(peaks, 0.0, 12), 5.0);
  EXPECT_EQ(threshold_for(peaks, 100.0, 12), 0.0);
  EXPECT_EQ(threshold_for({}, 1.0, 12), 0.0);
}

TEST(AreaUnderCurve, CountsTiesHalf) {
  EXPECT_DOUBLE_EQ(area_under_curve({2, 3}, {1, 1}), 1.0);
  EXPECT_DOUBLE_EQ(area_under_curve({1, 3}, {1, 2}), 0.625);
  EXPECT_DOUBLE_EQ(area_under_curve({1}, {1}), 0.5);
}

Magnitudes quiet(std::size_t rows) { return {2, std::vector<double>(rows * 2, 0.0)}; }

TEST(ScoreSet, FindsAnEventByItsOwnPairsOnly) {
  Magnitudes clean = quiet(600), injected = quiet(600);
  clean.values[2 * 300] = injected.values[2 * 300] = 5.0;  // natural
  const Labels labels{288, 300.0, {{"spike", 400, 3, {1}}, {"dip", 500, 2, {0}}}};
  injected.values[2 * 401 + 1] = 6.0;  // the second bin, its pair
  injected.values[2 * 500 + 1] = 9.0;  // not its pair
  const auto outcome = score_set(labels, clean, injected, std::vector<double>{0.1, 3.0});
  ASSERT_TRUE(outcome) << outcome.error();
  EXPECT_NEAR(outcome->days, 312.0 / 288.0, 1e-12);
  EXPECT_EQ(outcome->thresholds, (std::vector<double>{5.0, 0.0}));
  EXPECT_EQ(outcome->events[0].delay, (std::vector<int>{1, 1}));
  EXPECT_EQ(outcome->events[1].delay, (std::vector<int>{-1, -1}));
  EXPECT_NEAR(outcome->events[0].auc, 0.5 + 1.0 / 6.0, 1e-12);
}

TEST(ScoreSet, DoesNotCountWhatWasOverTheThresholdWithoutTheEvent) {
  Magnitudes clean = quiet(600), injected = quiet(600);
  clean.values[2 * 400 + 1] = injected.values[2 * 400 + 1] = 5.0;
  const Labels labels{288, 300.0, {{"spike", 400, 3, {1}}}};
  const auto outcome = score_set(labels, clean, injected, std::vector<double>{3.0});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->events[0].delay, (std::vector<int>{-1}));
}

TEST(ScoreSet, RefusesLabelsOfAnotherStretch) {
  const Labels labels{288, 300.0, {{"spike", 598, 3, {1}}}};
  EXPECT_FALSE(score_set(labels, quiet(600), quiet(600), std::vector<double>{1.0}));
  EXPECT_FALSE(score_set({}, quiet(600), quiet(601), std::vector<double>{1.0}));
}

// The standard error of a mean of n is known.
TEST(Bootstrap, GivesTheIntervalOfAMean) {
  test::Random random(2);
  std::vector<double> values;
  for (int k = 0; k < 400; ++k) values.push_back(random.normal());
  const Estimate estimate = bootstrap_mean(values);
  // 1.96 / sqrt(400) to either side; the resampling itself is good to a few percent.
  EXPECT_NEAR(estimate.high - estimate.mean, 0.098, 0.012);
  EXPECT_NEAR(estimate.mean - estimate.low, 0.098, 0.012);
  EXPECT_TRUE(std::isnan(bootstrap_mean({}).mean));
}

}  // namespace
}  // namespace outlierd::evaluate
