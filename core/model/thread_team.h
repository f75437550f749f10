#pragma once
// A fixed team of threads for loops whose parts do not touch each other: run(parts, f) calls f(0)
// to f(parts - 1), each once, and returns when all are done. Parts are taken as threads come free,
// the caller's included, and nobody waits for a thread that has taken none: on a busy machine the
// caller does it alone. No allocation in run(). One caller at a time; f must not throw.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace outlierd::model {

class ThreadTeam {
 public:
  static constexpr int kMostParts = (1 << 24) - 1024;

  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return int(workers_.size()) + 1; }

  // parts is at most kMostParts.
  template <class F>
  void run(int parts, const F& f) {
    if (parts <= 1 || workers_.empty()) {
      for (int part = 0; part < parts; ++part) f(part);
      return;
    }
    dispatch(
        parts, [](const void* context, int part) { (*static_cast<const F*>(context))(part); }, &f);
  }

 private:
  using Call = void (*)(const void* context, int part);

  void dispatch(int parts, Call call, const void* context);
  void work();
  void take_parts();

  // The round at work, in one word, so that a part can only be taken of the round it belongs to:
  // 16 bits number of the round, 24 bits parts, 24 bits next part.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<int> unfinished_{0};  // parts of the round
  Call call_ = nullptr;  // of the round: written before its ticket, read after taking a part
  const void* context_ = nullptr;

  std::mutex mutex_;  // for sleeping only
  std::condition_variable wake_, done_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace outlierd::model
