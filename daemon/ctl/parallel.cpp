#include "daemon/ctl/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace outlierd::ctl {

tl::expected<void, std::string> run_in_parallel(
    std::size_t count, int threads,
    const std::function<tl::expected<void, std::string>(std::size_t index)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::string failure;
  const auto take = [&] {
    for (std::size_t index = next++; index < count; index = next++)
      if (auto done = work(index); !done) {
        const std::lock_guard lock(mutex);
        if (failure.empty()) failure = done.error();
        next = count;
      }
  };
  std::vector<std::jthread> team;
  const auto helpers = std::min<std::size_t>(std::size_t(std::max(1, threads)), count);
  for (std::size_t k = 1; k < helpers; ++k) team.emplace_back(take);
  take();
  team.clear();  // joins
  if (!failure.empty()) return tl::unexpected(failure);
  return {};
}

}  // namespace outlierd::ctl
