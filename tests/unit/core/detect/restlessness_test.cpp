#include "core/detect/restlessness.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/byte_stream.h"

namespace outlierd::detect {
namespace {

constexpr int kBin = 300, kDay = 86400, kMidnight = 0, kNoon = 43200;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Days that are quiet but for a midnight four times as restless.
void live(Restlessness& restlessness, int days) {
  for (int day = 0; day < days; ++day)
    for (int second = 0; second < kDay; second += kBin)
      restlessness.learn(second, second == kMidnight ? 4.0f : 1.0f);
}

TEST(Restlessness, IsTheMeanOfTheHighestTenthOfTheScores) {
  std::vector<float> tails(100, -0.2f);
  for (std::size_t cell = 0; cell < 10; ++cell) tails[cell] = cell % 2 == 0 ? 3.0f : -5.0f;
  tails.push_back(kUnknown);
  EXPECT_NEAR(Restlessness::of(tails), 4.0f, 0.05f);  // a step of its histogram
  EXPECT_EQ(Restlessness::of(std::vector<float>(7, kUnknown)), 0.0f);
}

TEST(Restlessness, CalmsTheTimeOfDayThatWasRestlessBeforeAndNoOther) {
  Restlessness restlessness(kBin);
  live(restlessness, 5);
  // usual is 1.01: one bin in 288 at 4; the square root of a fourth.
  EXPECT_NEAR(restlessness.calm(kMidnight), 0.5f, 0.02f);
  EXPECT_NEAR(restlessness.calm(kNoon), 1.0f, 0.02f);
}

TEST(Restlessness, SaysNothingBeforeTwoDays) {
  Restlessness restlessness(kBin);
  live(restlessness, 1);
  EXPECT_EQ(restlessness.calm(kMidnight), 1.0f);
}

TEST(Restlessness, ForgetsAScheduleThatEnded) {
  Restlessness restlessness(kBin);
  live(restlessness, 5);
  const float before = restlessness.calm(kMidnight);
  for (int day = 0; day < 14; ++day) restlessness.learn(kMidnight, 1.0f);
  EXPECT_LT(before, 0.6f);
  EXPECT_GT(restlessness.calm(kMidnight), 0.95f);
}

TEST(Restlessness, IsKeptInASnapshot) {
  Restlessness before(kBin), after(kBin);
  live(before, 3);
  ByteWriter out;
  StateStream writing(out);
  before.exchange(writing);
  const std::vector<std::byte> bytes = out.take();
  ByteReader in(bytes);
  const Rearrangement same;
  StateStream reading(in, same);
  after.exchange(reading);
  ASSERT_FALSE(reading.failed());
  EXPECT_EQ(after.calm(kMidnight), before.calm(kMidnight));
  EXPECT_LT(after.calm(kMidnight), 0.7f);
}

}  // namespace
}  // namespace outlierd::detect
