#include "core/detect/sigma.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace outlierd::detect {
namespace {

constexpr int kStepsPerUnit = 64;

}  // namespace

double tail_of_sigma(double sigma) {
  if (!(sigma > 0.0)) return 0.0;
  const double y = sigma / std::numbers::sqrt2;
  // Beyond 26 erfc leaves the range of double; three terms of its series are exact to 1e-8 there.
  const double log_tail = y < 20.0 ? std::log(std::erfc(y))
                                   : -y * y - std::log(y * std::sqrt(std::numbers::pi)) +
                                         std::log1p(-0.5 / (y * y) + 0.75 / (y * y * y * y));
  return -log_tail / std::numbers::ln10;
}

double sigma_of_tail(double tail) {
  if (!(tail > 0.0)) return 0.0;
  tail = std::min(tail, kLargestTail);
  double low = 0.0, high = 40.0;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (tail_of_sigma(middle) < tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

float quick_sigma_of_tail(float tail) {
  static const std::vector<float> table = [] {
    std::vector<float> made(std::size_t(kLargestTail) * kStepsPerUnit + 2);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = float(sigma_of_tail(double(i) / kStepsPerUnit));
    return made;
  }();
  if (!(tail > 0.0f)) return 0.0f;
  const float at = std::min(tail, float(kLargestTail)) * kStepsPerUnit;
  const auto below = std::size_t(at);
  return table[below] + (at - float(below)) * (table[below + 1] - table[below]);
}

}  // namespace outlierd::detect
