// The parts that turn volumes into deviations: each against arithmetic done by hand or by a normal
// distribution.

#include "core/detect/cell_horizons.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/detect/daily_profile.h"
#include "core/detect/standardizer.h"
#include "core/detect/volume_scale.h"
#include "tests/support/random.h"

namespace outlierd::detect {
namespace {

const std::vector<std::uint8_t> kSeen = {1}, kLearned = {kLearn}, kHeld = {kHold};

TEST(CellHorizons, OfWhiteNoiseDeviateByAboutOneSpread) {
  test::Random random(1);
  CellHorizons horizons(1, 288.0);
  double squares = 0.0;
  int counted = 0;
  for (int t = 0; t < 6000; ++t) {
    const std::vector<float> value = {float(random.normal())};
    horizons.score(value, kSeen);
    if (t > 1000) squares += std::pow(horizons.deviation(0)[0], 2.0), ++counted;
    horizons.learn(value, kLearned);
  }
  // max(slow, fast spread) is a little more than the spread, so the deviation a little less than 1.
  EXPECT_NEAR(std::sqrt(squares / counted), 0.9, 0.12);
}

TEST(CellHorizons, MixTheLevelThatPredictsBest) {
  // A random walk is best predicted by its last value, so the quickest level must win.
  test::Random random(2);
  CellHorizons horizons(1, 288.0);
  double walk = 0.0, error = 0.0;
  int counted = 0;
  for (int t = 0; t < 4000; ++t) {
    walk += 0.3 * random.normal();
    const std::vector<float> value = {float(walk)};
    horizons.score(value, kSeen);
    if (t > 500) error += std::abs(value[0] - horizons.centre(0, 0)), ++counted;
    horizons.learn(value, kLearned);
  }
  EXPECT_LT(error / counted,
            0.35);  // 0.24 of one step, 0.28 for a level of weight 1/2, 0.5 for 1/8
}

TEST(CellHorizons, SeeASmallLastingStepAtALongHorizonOnly) {
  test::Random random(3);
  CellHorizons horizons(1, 288.0);
  float shortest = 0.0f, longest = 0.0f;
  for (int t = 0; t < 2020; ++t) {
    const float step = t >= 2000 ? 1.2f : 0.0f;
    const std::vector<float> value = {step + float(random.normal())};
    horizons.score(value, kSeen);
    if (t >= 2012) {
      shortest = std::max(shortest, horizons.deviation(0)[0]);
      longest = std::max(longest, horizons.deviation(2)[0]);
    }
    horizons.learn(value, kLearned);
  }
  EXPECT_LT(shortest, 3.0f);
  EXPECT_GT(longest, 3.0f);
}

TEST(CellHorizons, HoldLeavesTheLevelsWhereTheyWere) {
  CellHorizons horizons(1, 288.0);
  for (int t = 0; t < 100; ++t) {
    const std::vector<float> value = {t % 2 ? 0.5f : -0.5f};
    horizons.score(value, kSeen);
    horizons.learn(value, kLearned);
  }
  const float before = horizons.next(0);
  for (int t = 0; t < 5; ++t) {
    const std::vector<float> value = {20.0f};
    horizons.score(value, kSeen);
    horizons.learn(value, kHeld);
  }
  EXPECT_EQ(horizons.next(0), before);
}

// Whatever stands beside it: each cell as an object of one cell says, bit for bit.
TEST(CellHorizons, OfACellDoNotDependOnItsNeighbours) {
  constexpr std::size_t kCells = 11;
  test::Random random(5);
  CellHorizons together(kCells, 288.0);
  std::vector<CellHorizons> apart(kCells, CellHorizons(1, 288.0));
  for (int t = 0; t < 400; ++t) {
    std::vector<float> values;
    std::vector<std::uint8_t> observed, lessons;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      values.push_back(float(random.normal()) * (random.chance(0.02) ? 10.0f : 1.0f));
      observed.push_back(random.chance(0.8));
      lessons.push_back(!observed.back() ? kSkip : random.chance(0.1) ? kHold : kLearn);
    }
    together.score(values, observed);
    together.learn(values, lessons);
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      apart[cell].score({&values[cell], 1}, {&observed[cell], 1});
      apart[cell].learn({&values[cell], 1}, {&lessons[cell], 1});
      for (std::size_t k = 0; k < kHorizons; ++k)
        ASSERT_EQ(together.deviation(k)[cell], apart[cell].deviation(k)[0]) << t << ' ' << cell;
      ASSERT_EQ(together.next(cell), apart[cell].next(0)) << t << ' ' << cell;
      ASSERT_EQ(together.spread(cell), apart[cell].spread(0)) << t << ' ' << cell;
    }
  }
}

TEST(Standardizer, FindsLevelAndSpreadAndShrugsOffASpike) {
  test::Random random(4);
  Standardizer standardizer(1, 288.0);
  for (int t = 0; t < 3000; ++t) {
    standardizer.learn(0, float(7.0 + 2.0 * random.normal()));
    standardizer.end_bin();
  }
  EXPECT_NEAR(standardizer.level(0), 7.0, 0.5);
  EXPECT_NEAR(standardizer.spread(0), 2.0, 0.3);
  const float before = standardizer.level(0);
  standardizer.learn(0, 1e6f);
  EXPECT_NEAR(standardizer.level(0), before, 3.5 * 2.0 * 4.0 / 288.0);
}

TEST(DailyProfile, IsTheMeanOfPastDaysAndNothingBeforeTwo) {
  DailyProfile profile(1);
  const auto value_at = [](int second) { return 5.0f + 2.0f * float(second) / 86400.0f; };
  for (int day = 0; day < 4; ++day)
    for (int second = 0; second < 86400; second += 300) {
      profile.enter(second);
      if (day < 2) {
        EXPECT_FALSE(profile.active(0));
      }
      // Between the middles of slots a straight line is met, to the .2% that slots are kept in;
      // not across midnight.
      if (day == 3 && second > 3600 && second < 82000) {
        EXPECT_NEAR(profile.value(0), value_at(second), 0.03f) << second;
      }
      profile.learn(0, value_at(second));
    }
}

TEST(DailyProfile, FillsSlotsThatWereNeverSeen) {
  DailyProfile profile(1);
  for (int day = 0; day < 6; ++day)
    for (int second = 0; second < 43200; second += 900) {
      profile.enter(second);
      profile.learn(0, 3.0f);
    }
  profile.enter(64800);
  ASSERT_TRUE(profile.active(0));
  EXPECT_FLOAT_EQ(profile.value(0), 3.0f);
}

TEST(VolumeScale, GoesThereAndBackAndFollowsGrowth) {
  VolumeScale scale;
  for (int t = 0; t < 50; ++t)
    if (scale.learn(1000.0, 10.0)) scale.adopt();
  EXPECT_DOUBLE_EQ(scale.offset(), 20.0);
  for (double volume : {0.0, 1.0, 100.0, 1e6})
    EXPECT_NEAR(scale.volume_of(scale.value_of(volume)), volume, 1e-5 * volume + 1e-4);
  for (int t = 0; t < 20000; ++t)
    if (scale.learn(5000.0, 10.0)) scale.adopt();
  EXPECT_NEAR(scale.offset(), 100.0, 40.0);
}

}  // namespace
}  // namespace outlierd::detect
