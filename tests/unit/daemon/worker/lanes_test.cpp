#include "daemon/worker/lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

namespace outlierd::worker {
namespace {

TEST(Lanes, AJobRunsAfterTheOneBeforeItInItsLane) {
  constexpr std::size_t kLanes = 5;
  constexpr int kJobs = 400;
  std::vector<std::vector<int>> order(kLanes);  // no lock: a lane is one thread at a time
  {
    Lanes lanes(3, kLanes, 8);
    std::vector<int> next(kLanes, 0);
    for (bool left = true; left;) {
      left = false;
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        if (next[lane] < kJobs) {
          left = true;
          if (lanes.offer(lane, [&order, lane, k = next[lane]] { order[lane].push_back(k); }))
            ++next[lane];
        }
    }
  }
  for (const auto& lane : order) {
    ASSERT_EQ(lane.size(), std::size_t(kJobs));
    for (int k = 0; k < kJobs; ++k) ASSERT_EQ(lane[std::size_t(k)], k);
  }
}

TEST(Lanes, AFullLaneRefusesAndTheOthersGoOn) {
  std::binary_semaphore gate{0};
  std::atomic<int> done{0};
  Lanes lanes(2, 2, 2);
  ASSERT_TRUE(lanes.offer(0, [&] { gate.acquire(); }));
  ASSERT_TRUE(lanes.offer(0, [&] { ++done; }));
  EXPECT_FALSE(lanes.offer(0, [&] { ++done; }));
  EXPECT_EQ(lanes.queued(0), 2u);
  std::binary_semaphore other{0};
  ASSERT_TRUE(lanes.offer(1, [&] { other.release(); }));
  other.acquire();  // would wait for ever if the busy lane held it up
  gate.release();
}

TEST(Lanes, WhatIsQueuedIsDoneBeforeTheEnd) {
  std::atomic<int> done{0};
  {
    Lanes lanes(1, 1, 100);
    for (int k = 0; k < 100; ++k) ASSERT_TRUE(lanes.offer(0, [&] { ++done; }));
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace outlierd::worker
