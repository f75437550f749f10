#include "core/model/thread_team.h"

namespace outlierd::model {

ThreadTeam::ThreadTeam(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::dispatch(int parts, Call call, const void* context) {
  {
    const std::lock_guard lock(mutex_);
    call_ = call;
    context_ = context;
    parts_ = parts;
    next_ = 0;
    busy_ = int(workers_.size());
    ++round_;
  }
  wake_.notify_all();
  take_parts(call, context, parts);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadTeam::take_parts(Call call, const void* context, int parts) {
  for (int part = next_++; part < parts; part = next_++) call(context, part);
}

void ThreadTeam::work() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const Call call = call_;
    const void* const context = context_;
    const int parts = parts_;
    lock.unlock();
    take_parts(call, context, parts);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace outlierd::model
