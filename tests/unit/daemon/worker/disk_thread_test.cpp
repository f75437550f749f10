#include "daemon/worker/disk_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace outlierd::worker {
namespace {

using namespace std::chrono_literals;

ReportToStore report(EpochSeconds time, std::size_t cells = 1, bool with_event = false) {
  auto made = std::make_shared<SliceReport>();
  made->time = time;
  made->observed.assign(cells, 1.0f);
  if (with_event) made->events.emplace_back();
  return {std::make_shared<Network>(), made};
}

TEST(DiskThread, WritesReportsInOrderAndJobsAfterTheReportsBeforeThem) {
  std::vector<EpochSeconds> written;
  std::vector<std::size_t> seen_by_job;
  {
    DiskThread disk(
        [&](const auto& group) -> std::optional<std::string> {
          for (const ReportToStore& one : group) written.push_back(one.report->time);
          return std::nullopt;
        },
        [](const auto&) { FAIL(); }, 1 << 20);
    for (int k = 0; k < 1000; ++k) {
      disk.store(report(k));
      if (k % 100 == 99) disk.after_reports([&] { seen_by_job.push_back(written.size()); });
    }
  }
  ASSERT_EQ(written.size(), 1000u);
  for (int k = 0; k < 1000; ++k) ASSERT_EQ(written[std::size_t(k)], k);
  EXPECT_EQ(seen_by_job,
            (std::vector<std::size_t>{100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}));
}

TEST(DiskThread, AFailingDiskLosesNothingHoldsUpNobodyAndIsTriedAgain) {
  std::atomic<bool> broken{true};
  std::vector<EpochSeconds> written;
  std::vector<std::string> changes;
  std::promise<void> recovered;
  DiskThread disk(
      [&](const auto& group) -> std::optional<std::string> {
        if (broken) return "disk full";
        for (const ReportToStore& one : group) written.push_back(one.report->time);
        return std::nullopt;
      },
      [&](const auto& error) {
        changes.push_back(error.value_or("works"));
        if (!error) recovered.set_value();
      },
      1 << 20, 5ms);
  std::promise<void> job_ran;
  for (int k = 0; k < 100; ++k) disk.store(report(k));
  disk.after_reports([&] { job_ran.set_value(); });
  std::promise<void> urgent;
  disk.run([&] { urgent.set_value(); });
  urgent.get_future().wait();  // not behind what cannot be written
  auto ran = job_ran.get_future();
  EXPECT_EQ(ran.wait_for(20ms), std::future_status::timeout);
  EXPECT_TRUE(disk.failing());
  broken = false;
  recovered.get_future().wait();
  ran.wait();
  EXPECT_EQ(changes, (std::vector<std::string>{"disk full", "works"}));
  EXPECT_EQ(written.size(), 100u);
}

TEST(DiskThread, WhenTooMuchWaitsHistoryIsGivenUpAndEventsAreNot) {
  std::atomic<bool> broken{true};
  std::size_t events = 0, with_history = 0, count = 0;
  std::promise<void> failed;
  std::atomic<bool> said{false};
  {
    DiskThread disk(
        [&](const auto& group) -> std::optional<std::string> {
          if (broken) return "disk full";
          for (const ReportToStore& one : group) {
            ++count;
            events += one.report->events.size();
            with_history += !one.report->observed.empty();
          }
          return std::nullopt;
        },
        [&](const auto& error) {
          if (error && !said.exchange(true)) failed.set_value();
        },
        1 << 20, 1h);
    disk.store(report(0));
    failed.get_future().wait();
    for (int k = 1; k < 100; ++k) disk.store(report(k, 10000, true));  // 40 KB each
    EXPECT_GT(disk.thinned(), 50u);
    EXPECT_LE(disk.pending_bytes(), std::size_t{1} << 20);
    broken = false;
  }
  EXPECT_EQ(count, 100u);
  EXPECT_EQ(events, 99u);
  EXPECT_LT(with_history, 50u);
}

TEST(DiskThread, ASlowDiskMakesMathWait) {
  std::atomic<std::size_t> written{0};
  DiskThread disk(
      [&](const auto& group) -> std::optional<std::string> {
        std::this_thread::sleep_for(1ms);
        written += group.size();
        return std::nullopt;
      },
      [](const auto&) {}, 100000);
  for (int k = 0; k < 200; ++k) {
    disk.store(report(k, 10000));
    ASSERT_LE(disk.pending_bytes(), 100000u + 50000u);
  }
  EXPECT_EQ(disk.thinned(), 0u);
}

}  // namespace
}  // namespace outlierd::worker
