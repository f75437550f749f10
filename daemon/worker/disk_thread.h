#pragma once
// The disk thread: writes reports in groups, in order, and runs jobs. When the disk fails, reports
// wait and are tried again every second; math goes on. Past `max_bytes` of them a report is thinned
// to what must not be lost (events and anomalies), oldest first. When the disk is merely slow, math
// waits for it.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/detect/report.h"

namespace outlierd::worker {

struct ReportToStore {
  std::shared_ptr<const Network> network;
  std::shared_ptr<const SliceReport> report;
};

class DiskThread {
 public:
  using Job = std::function<void()>;
  // All of them, or the reason why none.
  using Write = std::function<std::optional<std::string>(const std::vector<ReportToStore>&)>;
  // On the disk thread, when it begins to fail (a reason) and when it works again (nothing).
  using OnChange = std::function<void(const std::optional<std::string>& error)>;

  DiskThread(Write write, OnChange on_change, std::size_t max_bytes,
             std::chrono::milliseconds retry = std::chrono::seconds(1));
  ~DiskThread();  // writes what waits, once; then runs the jobs left
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  // From math threads. Waits while too much is pending, unless the disk fails.
  void store(ReportToStore report);
  // After every report before it is written: a job behind reports that cannot be written waits.
  void after_reports(Job job);
  // As soon as the thread is free, failing or not.
  void run(Job job);

  bool failing() const;
  std::size_t pending_bytes() const;
  std::uint64_t thinned() const;  // reports whose history was given up

 private:
  struct Entry {
    ReportToStore report;  // or, where it has none, a job
    Job job;
    std::size_t bytes = 0;
    bool thin = false;
  };

  void loop();
  bool write_some(std::unique_lock<std::mutex>& lock);
  void make_room();

  Write write_;
  OnChange on_change_;
  const std::size_t max_bytes_;
  const std::chrono::milliseconds retry_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::deque<Entry> queue_;
  std::deque<Job> urgent_;
  std::size_t bytes_ = 0;
  std::uint64_t thinned_ = 0;
  bool failing_ = false, stop_ = false;
  std::jthread thread_;  // last
};

}  // namespace outlierd::worker
