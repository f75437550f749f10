#pragma once
// What the machine can do at best, measured in this run: the yardstick of every figure.

namespace outlierd::bench {

struct Limits {
  double gemm_gflops;  // double precision, square matrices that stay in cache
  double triad_gbs;    // a = b + s c over memory, 24 bytes an element
};

// With so many threads at once, their rates added up. Takes about a second.
Limits measure_limits(int threads);

}  // namespace outlierd::bench
