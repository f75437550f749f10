#pragma once
// Random numbers for tests: the same on every machine and with every standard library. The engine's
// output is fixed by the standard; its distributions are not, so they are not used.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace outlierd::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // In [0, 1), 53 bits of it.
  double uniform() { return double(engine_() >> 11) * 0x1p-53; }
  // Mean 0, variance 1 (Box-Muller; the second number of a pair is not kept).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  // In [0, n).
  int index(int n) { return int(uniform() * n); }
  bool chance(double probability) { return uniform() < probability; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace outlierd::test
