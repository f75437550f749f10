#include "core/model/thread_team.h"

#include <cassert>

namespace outlierd::model {
namespace {

// Loops follow each other closely, and waking a thread takes longer than many of them: both sides
// look for a while before they sleep.
constexpr int kLooks = 15000;  // a few hundred microseconds

template <class Condition>
bool look_for(Condition condition) {
  for (int k = 0; k < kLooks; ++k) {
    if (condition()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

constexpr int kPartBits = 24;
constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;

std::uint64_t round_of(std::uint64_t ticket) { return ticket >> (2 * kPartBits); }
int parts_of(std::uint64_t ticket) { return int(ticket >> kPartBits & kPartMask); }
int next_of(std::uint64_t ticket) { return int(ticket & kPartMask); }

}  // namespace

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
  assert(parts <= kMostParts);
  call_ = call;
  context_ = context;
  unfinished_.store(parts, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);  // or a worker about to sleep would miss it
    const std::uint64_t round = round_of(ticket_.load(std::memory_order_relaxed)) + 1;
    ticket_.store(round << (2 * kPartBits) | std::uint64_t(parts) << kPartBits,
                  std::memory_order_release);
  }
  wake_.notify_all();
  take_parts();
  const auto is_done = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (look_for(is_done)) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, is_done);
}

void ThreadTeam::take_parts() {
  while (true) {
    const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
    if (next_of(ticket) >= parts_of(ticket)) return;
    // This part is not finished, so its round is still the one at work.
    call_(context_, next_of(ticket));
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      { const std::lock_guard lock(mutex_); }  // the caller is either before its wait or in it
      done_.notify_one();
    }
  }
}

void ThreadTeam::work() {
  std::uint64_t seen = 0;
  const auto is_called = [&] {
    return stop_.load(std::memory_order_relaxed) ||
           round_of(ticket_.load(std::memory_order_acquire)) != seen;
  };
  while (true) {
    if (!look_for(is_called)) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, is_called);
    }
    if (stop_) return;
    seen = round_of(ticket_.load(std::memory_order_acquire));
    take_parts();
  }
}

}  // namespace outlierd::model
