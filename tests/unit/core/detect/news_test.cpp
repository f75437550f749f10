#include "core/detect/news.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/byte_stream.h"

namespace outlierd::detect {
namespace {

constexpr int kBin = 300;
constexpr int kDay = 288;
constexpr FewCells kFirst{0, 1};

void pass(News& news, int bins, float score = 0.0f) {
  for (int bin = 0; bin < bins; ++bin) news.learn_at(kFirst, splat(score));
}

TEST(News, AFirstScoreCountsInFullAndTheSameAgainFourFifths) {
  News news(2, kBin);
  EXPECT_EQ(news.weighed(0, 5.0f), 5.0f);
  pass(news, 1, 5.0f);
  EXPECT_EQ(news.weighed(0, 4.9f), 0.8f * 4.9f);
  EXPECT_EQ(news.weighed(0, 5.1f), 5.1f);  // it grows
  EXPECT_EQ(news.weighed(1, 4.9f), 4.9f);  // another cell
}

TEST(News, ARiseSaysNothingOfAFall) {
  News news(1, kBin);
  pass(news, 1, 5.0f);
  EXPECT_EQ(news.weighed(0, -4.0f), -4.0f);
  pass(news, 1, -6.0f);
  EXPECT_EQ(news.weighed(0, -4.0f), 0.8f * -4.0f);
}

// By e in two days: after a day the highest is exp(-1/2) = .607 of what it was.
TEST(News, WhatWasHighDaysAgoIsNewsAgain) {
  News news(1, kBin);
  pass(news, 1, 8.0f);
  pass(news, kDay);
  EXPECT_EQ(news.weighed(0, 8.0f * 0.60f), 0.8f * (8.0f * 0.60f));
  EXPECT_EQ(news.weighed(0, 8.0f * 0.61f), 8.0f * 0.61f);
}

TEST(News, TheReachIsTheLargestScoreThatIsNotOverTheLimit) {
  constexpr float kLimit = 4.0f;
  for (const float before : {0.0f, 3.0f, 4.5f, 9.0f})
    for (const bool up : {true, false}) {
      News news(1, kBin);
      pass(news, 1, up ? before : -before);
      EXPECT_EQ(news.told_lately(0, kLimit), before > kLimit);
      const float reach = news.reach(0, kLimit, up), sign = up ? 1.0f : -1.0f;
      EXPECT_LE(std::abs(news.weighed(0, sign * 0.999f * reach)), kLimit) << before;
      EXPECT_GT(std::abs(news.weighed(0, sign * 1.001f * reach)), kLimit) << before;
    }
}

TEST(News, ACellWithoutAScoreKeepsWhatWasAndStaysWithoutOne) {
  News news(1, kBin);
  pass(news, 1, 5.0f);
  pass(news, 1, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(news.weighed(0, 4.9f), 0.8f * 4.9f);
  EXPECT_TRUE(std::isnan(news.weighed(0, std::numeric_limits<float>::quiet_NaN())));
}

TEST(News, FourCellsAtOnceAreWeighedAsOneByOne) {
  News news(4, kBin);
  const Lanes before = {3.0f, -3.0f, 0.0f, 7.0f};
  const Lanes now = {2.0f, -4.0f, std::numeric_limits<float>::quiet_NaN(), -6.0f};
  news.learn_at(FourCells{0}, before);
  const Lanes weighed = news.weighed_at(FourCells{0}, now);
  for (std::size_t cell : {0, 1, 3}) EXPECT_EQ(weighed[cell], news.weighed(cell, now[cell]));
  EXPECT_TRUE(std::isnan(weighed[2]));
}

TEST(News, IsKeptInASnapshotAndNotLookedForInAnOlderOne) {
  News before(1, kBin);
  pass(before, 1, 5.0f);
  for (const std::uint32_t version : {3u, 4u}) {
    News after(1, kBin);
    ByteWriter out;
    StateStream writing(out, version);
    before.exchange(writing);
    const std::vector<std::byte> bytes = out.take();
    ByteReader in(bytes);
    const Rearrangement map{.old_nodes = 1, .old_metrics = 1, .node_from = {0}, .metric_from = {}};
    StateStream reading(in, map, version);
    after.exchange(reading);
    EXPECT_FALSE(reading.failed());
    EXPECT_TRUE(in.finished());
    EXPECT_EQ(after.weighed(0, 4.0f), version == 3 ? 4.0f : 0.8f * 4.0f);
  }
}

}  // namespace
}  // namespace outlierd::detect
