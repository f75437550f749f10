#include "core/detect/usual_range.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/byte_stream.h"
#include "tests/support/random.h"

namespace outlierd::detect {
namespace {

constexpr double kBinsADay = 288.0;
constexpr FewCells kFirst{0, 1}, kSecond{1, 1};

// Days of values between 10 and 20, every one as often, of the first of two cells.
void live(UsualRange& range, int days) {
  test::Random random(5);
  for (int bin = 0; bin < int(kBinsADay) * days; ++bin) {
    const auto value = float(10.0 + 10.0 * random.uniform());
    range.learn_at(kFirst, splat(value), splat(3.0f), LaneMask{-1, -1, -1, -1});
    range.end_bin();
  }
}

float weight(const UsualRange& range, float value, float score, FewCells at = kFirst) {
  return range.weight_at(at, splat(value), splat(score))[0];
}

TEST(UsualRange, AFallToWhereTheCellOftenIsCountsHalf) {
  UsualRange range(2, kBinsADay);
  live(range, 6);
  EXPECT_EQ(weight(range, 15.0f, -4.0f), 0.5f);
  EXPECT_EQ(weight(range, 9.0f, -4.0f), 1.0f);  // below all it had
  const float between = weight(range, 11.0f, -4.0f);
  EXPECT_GT(between, 0.5f);
  EXPECT_LT(between, 1.0f);
}

TEST(UsualRange, ARiseToWhatItNeverHadCountsInFull) {
  UsualRange range(2, kBinsADay);
  live(range, 6);
  EXPECT_EQ(weight(range, 21.0f, 4.0f), 1.0f);
  EXPECT_EQ(weight(range, 15.0f, 4.0f), 0.9f);
}

TEST(UsualRange, SaysNothingOnTheFirstDayNorOfACellNeverSeen) {
  UsualRange range(2, kBinsADay);
  live(range, 1);
  EXPECT_EQ(weight(range, 15.0f, -4.0f, kSecond), 1.0f);
  UsualRange young(2, kBinsADay);
  young.learn_at(kFirst, splat(15.0f), splat(3.0f), LaneMask{-1, -1, -1, -1});
  young.end_bin();
  EXPECT_EQ(weight(young, 15.0f, -4.0f), 1.0f);
}

TEST(UsualRange, FollowsACellToItsNewLevelOverDays) {
  UsualRange range(2, kBinsADay);
  live(range, 6);
  EXPECT_EQ(weight(range, 30.0f, 4.0f), 1.0f);
  for (int bin = 0; bin < int(kBinsADay) * 6; ++bin) {
    range.learn_at(kFirst, splat(bin % 2 == 0 ? 29.0f : 31.0f), splat(3.0f),
                   LaneMask{-1, -1, -1, -1});
    range.end_bin();
  }
  EXPECT_LT(weight(range, 30.0f, 4.0f), 1.0f);
  EXPECT_GT(weight(range, 15.0f, -4.0f), 0.8f);  // half before
}

TEST(UsualRange, IsKeptInASnapshotAndNotLookedForInAnOlderOne) {
  UsualRange before(2, kBinsADay);
  live(before, 3);
  for (const std::uint32_t version : {2u, 3u}) {
    UsualRange after(2, kBinsADay);
    ByteWriter out;
    StateStream writing(out, version);
    before.exchange(writing);
    const std::vector<std::byte> bytes = out.take();
    ByteReader in(bytes);
    const Rearrangement map{.old_nodes = 1, .old_metrics = 2, .node_from = {0}, .metric_from = {}};
    StateStream reading(in, map, version);
    after.exchange(reading);
    EXPECT_FALSE(reading.failed());
    EXPECT_TRUE(in.finished());
    EXPECT_EQ(weight(after, 11.0f, -4.0f), version == 2 ? 1.0f : weight(before, 11.0f, -4.0f));
  }
}

}  // namespace
}  // namespace outlierd::detect
