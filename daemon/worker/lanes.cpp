#include "daemon/worker/lanes.h"

#include <utility>

namespace outlierd::worker {

Lanes::Lanes(int threads, std::size_t lanes, std::size_t capacity)
    : capacity_(capacity), lanes_(lanes) {
  for (int k = 0; k < threads; ++k) threads_.emplace_back([this] { run(); });
}

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

bool Lanes::offer(std::size_t lane, Job job) {
  {
    const std::lock_guard lock(mutex_);
    Lane& to = lanes_[lane];
    if (to.jobs.size() >= capacity_) return false;
    to.jobs.push_back(std::move(job));
    if (to.taken) return true;
    to.taken = true;
    ready_.push_back(lane);
  }
  wake_.notify_one();
  return true;
}

std::size_t Lanes::queued(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return lanes_[lane].jobs.size();
}

void Lanes::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !ready_.empty(); });
    if (ready_.empty()) return;
    const std::size_t lane = ready_.front();
    ready_.pop_front();
    // The job stays at the front while it runs, so that it counts as queued.
    const Job job = std::move(lanes_[lane].jobs.front());
    lock.unlock();
    job();
    lock.lock();
    lanes_[lane].jobs.pop_front();
    if (lanes_[lane].jobs.empty()) {
      lanes_[lane].taken = false;
    } else {
      ready_.push_back(lane);  // behind the others: one busy network does not hold up the rest
      wake_.notify_one();
    }
  }
}

}  // namespace outlierd::worker
