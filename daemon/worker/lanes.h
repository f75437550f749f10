#pragma once
// The math threads. A lane is a queue of jobs that run in order, one at a time; lanes share the
// threads, so that one network's model is touched by one thread at a time and networks run side by
// side. offer() is for the network thread: it never waits.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace outlierd::worker {

class Lanes {
 public:
  using Job = std::function<void()>;  // must not throw

  Lanes(int threads, std::size_t lanes, std::size_t capacity);
  ~Lanes();  // what is queued is still done
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // False when the lane holds `capacity` jobs: the caller pauses its readers and tries again.
  [[nodiscard]] bool offer(std::size_t lane, Job job);
  // Jobs waiting or running.
  std::size_t queued(std::size_t lane) const;

 private:
  struct Lane {
    std::deque<Job> jobs;
    bool taken = false;  // ready or running
  };

  void run();

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Lane> lanes_;
  std::deque<std::size_t> ready_;  // lanes with jobs that no thread runs
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // last: they end before the rest goes
};

}  // namespace outlierd::worker
