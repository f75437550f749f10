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

namespace {

const float* sigma_table() {
  static const std::vector<float> table = [] {
    std::vector<float> made(std::size_t(kLargestTail) * kStepsPerUnit + 2);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = float(sigma_of_tail(double(i) / kStepsPerUnit));
    return made;
  }();
  return table.data();
}

float looked_up(const float* table, float tail) {
  const float at = std::min(std::max(tail, 0.0f), float(kLargestTail)) * kStepsPerUnit;
  const int below = int(at);
  return table[below] + (at - float(below)) * (table[below + 1] - table[below]);
}

}  // namespace

float quick_sigma_of_tail(float tail) {
  return tail > 0.0f ? looked_up(sigma_table(), tail) : 0.0f;
}

void quick_sigmas_of_tails(std::span<const float> tails, float* sigmas) {
  const float* const table = sigma_table();
  for (std::size_t i = 0; i < tails.size(); ++i) {
    const bool known = !std::isnan(tails[i]);
    const float sigma = looked_up(table, known ? std::abs(tails[i]) : 0.0f);
    sigmas[i] = known ? std::copysign(sigma, tails[i]) : tails[i];
  }
}

}  // namespace outlierd::detect
