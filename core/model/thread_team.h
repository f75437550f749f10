#pragma once
// A fixed team of threads for loops whose parts do not touch each other: run(parts, f) calls f(0)
// to f(parts - 1), each once, and returns when all are done. The caller works too; with one thread
// or one part nothing is woken. No allocation in run(). run() is for one caller at a time, and f
// must not throw.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace outlierd::model {

class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return int(workers_.size()) + 1; }

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
  void take_parts(Call call, const void* context, int parts);

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::uint64_t round_ = 0;  // one more for each dispatch
  int busy_ = 0;             // workers that have not finished this round
  bool stop_ = false;
  Call call_ = nullptr;
  const void* context_ = nullptr;
  int parts_ = 0;
  std::atomic<int> next_{0};
  std::vector<std::thread> workers_;
};

}  // namespace outlierd::model
