#pragma once
// Seeded random numbers, the same on every machine and with every standard library: the engine's
// output is fixed by the standard; its distributions are not, so they are written here.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace outlierd::ctl {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return double(engine_() >> 11) * 0x1p-53; }  // in [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  bool chance(double probability) { return uniform() < probability; }
  std::size_t index(std::size_t count) { return std::size_t(uniform() * double(count)); }
  // Both ends may come.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + std::int64_t(uniform() * double(high - low + 1));
  }
  // Mean 0, variance 1 (Box-Muller; the second number of a pair is kept for the next call).
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }
  double log_normal(double sigma) { return std::exp(sigma * normal()); }  // median 1
  // At least 1; the tail falls with x^-shape.
  double pareto(double shape) { return std::pow(1.0 - uniform(), -1.0 / shape); }
  // `count` different ones, in the order they were drawn.
  template <class T>
  std::vector<T> sample(std::vector<T> from, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) std::swap(from[k], from[k + index(from.size() - k)]);
    from.resize(count);
    return from;
  }

 private:
  std::mt19937_64 engine_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace outlierd::ctl
