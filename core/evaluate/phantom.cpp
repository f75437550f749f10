#include "core/evaluate/phantom.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace outlierd::evaluate {
namespace {

// 1 inside, 0 outside, smooth over about two pixels, as the resolution of a scanner has it.
double ellipse(double x, double y, double cx, double cy, double rx, double ry, double edge) {
  const double distance = std::hypot((x - cx) / rx, (y - cy) / ry) - 1.0;
  return 1.0 / (1.0 + std::exp(distance * std::min(rx, ry) / edge));
}

}  // namespace

std::vector<double> phantom_frame(const PhantomOptions& options, int frame) {
  const double turn = 2.0 * std::numbers::pi * frame;
  const double beat = 0.5 - 0.5 * std::cos(turn / options.beat_frames);
  const double breath = std::sin(turn / options.breath_frames);
  const double edge = 1.0 / options.size;
  const double left = 0.105 - 0.035 * beat, right = 0.085 - 0.018 * beat;  // chambers
  const double lift = 0.012 * breath;
  std::vector<double> picture;
  picture.reserve(std::size_t(options.size) * std::size_t(options.size));
  for (int row = 0; row < options.size; ++row)
    for (int column = 0; column < options.size; ++column) {
      const double x = (column + 0.5) / options.size, y = (row + 0.5) / options.size;
      double value = 0.55 * ellipse(x, y, 0.5, 0.5, 0.44, 0.36 + 0.4 * lift, edge);
      value -= 0.40 * ellipse(x, y, 0.27, 0.47 + lift, 0.13, 0.21 + lift, edge);  // lungs
      value -= 0.40 * ellipse(x, y, 0.76, 0.49 + lift, 0.12, 0.20 + lift, edge);
      value += 0.30 * ellipse(x, y, 0.5, 0.76, 0.055, 0.05, edge);                // spine
      value += 0.10 * ellipse(x, y, 0.50, 0.45 + lift, 0.19, 0.16, edge);         // heart
      value += 0.35 * ellipse(x, y, 0.555, 0.46 + lift, left, 1.1 * left, edge);  // blood
      value += 0.30 * ellipse(x, y, 0.415, 0.43 + lift, 0.8 * right, right, edge);
      picture.push_back(std::clamp(value, 0.0, 1.0));
    }
  return picture;
}

Slice observe(const PhantomOptions& options, int frame, const std::vector<double>& truth) {
  std::mt19937_64 engine(options.seed * 1000003u + std::uint64_t(frame));
  const auto uniform = [&] { return (double(engine() >> 11) + 0.5) * 0x1p-53; };
  Slice slice({options.size, options.size});
  for (std::size_t cell = 0; cell < truth.size(); ++cell) {
    if (uniform() >= options.observed) continue;
    const double noise = options.noise * std::sqrt(-2.0 * std::log(uniform())) *
                         std::cos(2.0 * std::numbers::pi * uniform());
    const bool corrupted = uniform() < options.corrupted;
    slice.set(cell, corrupted ? -1.0 + 3.0 * uniform() : truth[cell] + noise);
  }
  return slice;
}

}  // namespace outlierd::evaluate
