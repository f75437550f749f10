#include "core/detect/alarm_threshold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/byte_stream.h"
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

// Scores run high while the tails are learned.
TEST(AlarmThreshold, ForgetsTheFirstDaysOnceThereIsAsMuchAfterThem) {
  AlarmThreshold threshold(1.0, 300, 144), without(1.0, 300, 144);
  test::Random random(4);
  for (int t = 0; t < 288 * 8; ++t) {
    const auto peak = float(2.0 - 0.4 * std::log(1.0 - random.uniform()));
    threshold.add(t < 288 * 2 ? peak + 4.0f : peak);
    without.add(peak);
    if (t == 288) {
      EXPECT_GT(threshold.sigmas(), without.sigmas() + 2.0f);
    }
  }
  EXPECT_EQ(threshold.sigmas(), without.sigmas());
}

// The bytes of version 2: up to four weeks of peaks, the oldest anywhere in their ring.
TEST(AlarmThreshold, KeepsTheNewestPeaksOfAStateThatRemembersLonger) {
  for (const std::size_t added : {8064u, 9000u}) {
    std::vector<float> ring(8064, 2.0f);
    for (std::size_t t = added - 2000; t < added; ++t) ring[t % ring.size()] = 5.0f;
    ByteWriter out;
    StateStream writing(out, 2);
    writing.list(ring, ring.size());
    std::uint64_t count = added;
    float sigmas = 3.0f;
    double budget = 2.0;
    writing.number(count);
    writing.number(sigmas);
    writing.number(budget);
    const std::vector<std::byte> bytes = out.take();
    ByteReader in(bytes);
    const Rearrangement map;
    StateStream reading(in, map, 2);
    AlarmThreshold threshold(1.0, 300, 144);
    threshold.exchange(reading);
    EXPECT_FALSE(reading.failed());
    EXPECT_TRUE(in.finished());
    // 2000 of the 2880 kept are at 5: only a threshold of 5 costs little enough.
    EXPECT_NEAR(threshold.sigmas(), 5.0f, 0.01f);
    for (int t = 0; t < 2880 - 2000; ++t) threshold.add(2.0f);  // the oldest go first
    EXPECT_NEAR(threshold.sigmas(), 5.0f, 0.01f);
    for (int t = 0; t < 2004; ++t) threshold.add(2.0f);
    EXPECT_LT(threshold.sigmas(), 4.5f);
  }
}

TEST(AlarmThreshold, IsLowerWithALargerBudget) {
  EXPECT_LT(AlarmThreshold(10.0, 300, 144).sigmas(), AlarmThreshold(1.0, 300, 144).sigmas());
}

}  // namespace
}  // namespace outlierd::detect
