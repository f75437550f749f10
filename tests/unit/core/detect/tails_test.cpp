#include "core/detect/tails.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random.h"

namespace outlierd::detect {
namespace {

// A power law whose exceedance rate is known: P(z > x) = (1 + x)^-4 on either side.
double power_law(test::Random& random) {
  const double size = std::pow(1.0 - random.uniform(), -0.25) - 1.0;
  return random.chance(0.5) ? size : -size;
}

TEST(Tails, ScoreIsTheRateAtWhichSomethingAsLargeIsSeen) {
  test::Random random(5);
  Tails tails(20);
  for (int t = 0; t < 8000; ++t) {
    for (std::size_t i = 0; i < 20; ++i) tails.learn(i, float(power_law(random)));
    tails.end_bin();
  }
  double rare = 0.0, rises = 0.0, total = 0.0;
  for (int n = 0; n < 400000; ++n) {
    const float score = tails.score(std::size_t(random.index(20)), float(power_law(random)));
    rare += std::abs(score) > 3.0f;
    rises += score > 3.0f;
    total += 1.0;
  }
  // Each side separately exceeds h with a rate of about 10^-h. The power law is not exactly
  // straight in log z at its 2% level, which is what the factor of two allows for.
  EXPECT_GT(rises / total, 0.5e-3);
  EXPECT_LT(rises / total, 2e-3);
  EXPECT_NEAR(rare / total, 2 * rises / total, 1e-3);
}

TEST(Tails, OfASeriesWithLargerDeviationsScoreThemLower) {
  test::Random random(6);
  Tails tails(2);
  for (int t = 0; t < 5000; ++t) {
    tails.learn(0, float(random.normal()));
    tails.learn(1, float(5.0 * random.normal()));
    tails.end_bin();
  }
  EXPECT_GT(tails.score(0, 6.0f), tails.score(1, 6.0f) + 1.0f);
  EXPECT_LT(tails.score(0, -6.0f), 0.0f);
}

// What lasts for hours is one excursion of a mean over hours, and not one a bin.
TEST(Tails, OfALongHorizonAreNotMovedByOneExcursion) {
  test::Random random(8);
  Tails of_bins(1), of_hours(1, 16.0f);
  const auto learn = [&](float deviation) {
    for (Tails* tails : {&of_bins, &of_hours}) {
      tails->learn(0, deviation);
      tails->end_bin();
    }
  };
  for (int t = 0; t < 4000; ++t) learn(float(random.normal()));
  const float before = of_hours.score(0, 20.0f);
  for (int t = 0; t < 40; ++t) learn(20.0f);
  EXPECT_GT(of_hours.score(0, 20.0f), 0.7f * before);
  EXPECT_LT(of_bins.score(0, 20.0f), 0.4f * before);
}

TEST(Tails, LearnedInRangesAreThoseLearnedOneByOne) {
  constexpr std::size_t kSeries = 23, kCut = 9;
  test::Random random(7);
  Tails one_by_one(kSeries), in_ranges(kSeries);
  for (int t = 0; t < 600; ++t) {
    std::vector<float> deviation;
    std::vector<std::uint8_t> observed;
    for (std::size_t i = 0; i < kSeries; ++i) {
      deviation.push_back(float(power_law(random)));
      observed.push_back(random.chance(0.9));
      if (observed[i]) one_by_one.learn(i, deviation[i]);
    }
    Tails::Exceedances first, second;
    in_ranges.learn(kCut, kSeries, deviation.data() + kCut, observed.data() + kCut, second);
    in_ranges.learn(0, kCut, deviation.data(), observed.data(), first);
    in_ranges.pool(first);
    in_ranges.pool(second);
    one_by_one.end_bin();
    in_ranges.end_bin();
    for_lanes(0, kSeries, [&](auto at) {
      const Lanes score = in_ranges.score_at(at, 3.0f * load(deviation.data(), at));
      for (std::size_t k = 0; k < at.count; ++k)
        ASSERT_EQ(score[k], one_by_one.score(at.cell + k, 3.0f * deviation[at.cell + k]));
    });
  }
}

TEST(Tails, GiveBackTheDeviationOfAScore) {
  const Tails tails(1);
  for (float tail : {0.3f, 1.5f, 1.8f, 4.0f, 8.0f})
    EXPECT_NEAR(tails.score(0, tails.deviation_at(0, tail, true)), tail, 1e-4f);
}

}  // namespace
}  // namespace outlierd::detect
