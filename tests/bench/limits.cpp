#include "tests/bench/limits.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "core/aligned.h"

#define OUTLIERD_GEMM gemm_baseline
#include "tests/bench/gemm_body.h"

namespace outlierd::bench {

double gemm_avx2(int n, int times);

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The best of some rounds in which all threads run f together: work / time of the slowest.
template <class F>
double best_rate(int threads, int rounds, double work, F f) {
  double best = 0.0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> seconds(std::size_t(threads), 0.0);
    std::barrier together(threads);
    std::vector<std::thread> team;
    for (int k = 0; k < threads; ++k)
      team.emplace_back([&, k] {
        together.arrive_and_wait();
        const auto start = Clock::now();
        f(k);
        seconds[std::size_t(k)] = seconds_since(start);
      });
    for (std::thread& thread : team) thread.join();
    best = std::max(best, threads * work / *std::max_element(seconds.begin(), seconds.end()));
  }
  return best;
}

double gemm(int n, int times) {
#ifdef OUTLIERD_HAS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return gemm_avx2(n, times);
#endif
  return gemm_baseline(n, times);
}

}  // namespace

Limits measure_limits(int threads) {
  constexpr int kSize = 384, kTimes = 8, kRounds = 7;
  constexpr std::size_t kElements = std::size_t{1} << 23;  // three arrays of 64 MB a thread
  std::vector<double> sink(std::size_t(threads), 0.0);
  const double flops = best_rate(threads, kRounds, 2.0 * kSize * kSize * kSize * kTimes,
                                 [&](int k) { sink[std::size_t(k)] = gemm(kSize, kTimes); });

  std::vector<AlignedDoubles> arrays(std::size_t(threads) * 3);
  for (auto& array : arrays) array.assign(kElements, 1.0);
  const double bytes = best_rate(threads, kRounds, 24.0 * double(kElements), [&](int k) {
    double* a = arrays[std::size_t(k) * 3].data();
    const double* b = arrays[std::size_t(k) * 3 + 1].data();
    const double* c = arrays[std::size_t(k) * 3 + 2].data();
    for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + 3.0 * c[i];
  });
  return {flops * 1e-9, bytes * 1e-9};
}

}  // namespace outlierd::bench
