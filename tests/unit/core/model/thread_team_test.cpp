// Parts write to plain memory that the caller then reads: under the thread sanitizer these tests
// also say that run() orders the two.

#include "core/model/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <ostream>
#include <vector>

namespace outlierd::model {
namespace {

class ThreadTeamTest : public testing::TestWithParam<int> {
 protected:
  ThreadTeam team_{GetParam()};
};

TEST_P(ThreadTeamTest, HasAsManyThreadsAsAskedFor) { EXPECT_EQ(team_.threads(), GetParam()); }

TEST_P(ThreadTeamTest, CallsEachPartOnce) {
  for (int parts : {0, 1, 2, 3, 4, 7, 16, 1000}) {
    std::vector<int> calls(parts, 0);
    team_.run(parts, [&](int part) { ++calls[part]; });
    EXPECT_EQ(calls, std::vector<int>(parts, 1)) << parts << " parts";
  }
}

// Each round reads what the round before wrote, in other parts and so on other threads.
TEST_P(ThreadTeamTest, ARoundSeesAllOfTheRoundBefore) {
  const int parts = 5, rounds = 3000;
  std::vector<int> now(parts, 0), next(parts, 0);
  now[0] = 1;
  for (int round = 0; round < rounds; ++round) {
    team_.run(parts, [&](int part) { next[part] = now[(part + parts - 1) % parts]; });
    now.swap(next);
  }
  EXPECT_EQ(std::accumulate(now.begin(), now.end(), 0), 1);
  EXPECT_EQ(now[rounds % parts], 1);
}

TEST_P(ThreadTeamTest, RoundsOfDifferentSizesDoNotMix) {
  std::vector<int> sums(64, 0);
  std::vector<int> expected(64, 0);
  for (int round = 0; round < 2000; ++round) {
    const int parts = round * 7 % 65;
    for (int part = 0; part < parts; ++part) expected[part] += round;
    team_.run(parts, [&, round](int part) { sums[part] += round; });
  }
  EXPECT_EQ(sums, expected);
}

// The parts are long enough for all threads to be at work when the caller runs out of parts.
TEST_P(ThreadTeamTest, ReturnsWhenEveryPartIsDoneNotWhenTheLastIsTaken) {
  for (int round = 0; round < 50; ++round) {
    std::vector<double> results(9, 0.0);
    team_.run(9, [&](int part) {
      double sum = 0.0;
      for (int i = 1; i <= 50000 - 5000 * part; ++i) sum += 1.0 / i;
      results[part] = sum;
    });
    for (double result : results) ASSERT_GT(result, 9.0);  // the harmonic number of 10000 is 9.79
  }
}

// One caller at a time: each part of the outer team has an inner team of its own.
TEST_P(ThreadTeamTest, TeamsMayWorkInsideTheParts) {
  const int outer = 3, inner = 6;
  std::vector<std::unique_ptr<ThreadTeam>> teams;
  for (int part = 0; part < outer; ++part) teams.push_back(std::make_unique<ThreadTeam>(2));
  std::vector<int> calls(outer * inner, 0);
  for (int round = 0; round < 100; ++round)
    team_.run(outer, [&](int i) { teams[i]->run(inner, [&](int j) { ++calls[i * inner + j]; }); });
  EXPECT_EQ(calls, std::vector<int>(outer * inner, 100));
}

TEST_P(ThreadTeamTest, MayBeMadeAndUnmadeWithoutARound) {
  std::atomic<int> done = 0;
  for (int i = 0; i < 50; ++i) {
    ThreadTeam team(GetParam());
    if (i % 2) team.run(2, [&](int) { ++done; });
  }
  EXPECT_EQ(done, 50);
}

INSTANTIATE_TEST_SUITE_P(, ThreadTeamTest, testing::Values(1, 2, 3, 8));

TEST(ThreadTeam, OfOneRunsItsPartsInOrderOnTheCaller) {
  ThreadTeam team(1);
  std::vector<int> order;
  team.run(5, [&](int part) { order.push_back(part); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace outlierd::model
