#include "core/detect/alarm_threshold.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/detect/sigma.h"
#include "tests/support/random.h"

namespace outlierd::detect {
namespace {

TEST(Alarms, AreCountedAsTheEvaluationScriptDoes) {
  // One bin; a run with gaps of two bridged; a gap of three that is not; 25 bins are three hours.
  std::vector<float> peaks(100, 0.0f);
  peaks[3] = 5.0f;
  EXPECT_EQ(alarms_over(peaks, 4.0f, 12), 1);
  peaks[6] = 5.0f;
  EXPECT_EQ(alarms_over(peaks, 4.0f, 12), 1);
  peaks[10] = 5.0f;
  EXPECT_EQ(alarms_over(peaks, 4.0f, 12), 2);
  for (int i = 40; i <= 64; ++i) peaks[std::size_t(i)] = 5.0f;
  EXPECT_EQ(alarms_over(peaks, 4.0f, 12), 5);
  EXPECT_EQ(alarms_over(peaks, 5.0f, 12), 0);  // a peak at the threshold is not over it
  EXPECT_EQ(alarms_over({}, 1.0f, 12), 0);
}

TEST(AlarmThreshold, HoldsTheBudgetOnPeaksThatKeepTheirDistribution) {
  for (double budget : {1.0, 3.0, 10.0}) {
    test::Random random(3);
    AlarmThreshold threshold(budget, 300, 144);
    double alarms = 0.0;
    const int bins = 288 * 28;
    std::vector<float> over;
    for (int t = 0; t < bins; ++t) {
      const auto peak = float(2.0 - 0.4 * std::log(1.0 - random.uniform()));
      if (t >= bins / 4) over.push_back(peak > threshold.sigmas() ? 1.0f : 0.0f);
      threshold.add(peak);
    }
    alarms = double(alarms_over(over, 0.5f, 12)) / (double(over.size()) / 288.0);
    EXPECT_GT(alarms, 0.5 * budget);
    EXPECT_LT(alarms, 2.0 * budget);
  }
}

TEST(AlarmThreshold, BeforeAnyPastTakesACalibratedScoreAtItsWord) {
  const AlarmThreshold threshold(1.0, 300, 144);
  const double rate = 144 * std::pow(10.0, -tail_of_sigma(threshold.sigmas()));
  EXPECT_NEAR(rate * 288, 1.0, 0.02);
}

TEST(AlarmThreshold, IsLowerWithALargerBudget) {
  EXPECT_LT(AlarmThreshold(10.0, 300, 144).sigmas(), AlarmThreshold(1.0, 300, 144).sigmas());
}

}  // namespace
}  // namespace outlierd::detect
