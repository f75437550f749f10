#include "tests/support/synthetic.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/random.h"

namespace outlierd::test {
namespace {

// c_t[r] for all t: independent normals, or a wave of its own period and phase on a level.
std::vector<std::vector<double>> time_courses(const SyntheticOptions& options, Random& random) {
  std::vector<std::vector<double>> courses(std::size_t(options.slices));
  for (auto& c : courses) c.resize(std::size_t(options.rank));
  for (int r = 0; r < options.rank; ++r) {
    const double period = 15.0 + 30.0 * random.uniform(), phase = random.uniform();
    for (int t = 0; t < options.slices; ++t)
      courses[t][r] = options.smooth
                          ? 1.0 + 0.6 * std::sin(2.0 * std::numbers::pi * (t / period + phase))
                          : random.normal();
  }
  return courses;
}

}  // namespace

SyntheticStream synthetic_stream(const SyntheticOptions& options) {
  Random random(options.seed);
  const std::size_t cells = cell_count(options.shape);
  // K[cell, r] = prod_n A^n[i_n, r].
  std::vector<double> products(cells * std::size_t(options.rank), 1.0);
  std::size_t step = cells;
  for (int size : options.shape) {
    step /= std::size_t(size);
    for (int r = 0; r < options.rank; ++r)
      for (int i = 0; i < size; ++i) {
        const double a = random.normal();
        for (std::size_t cell = 0; cell < cells; ++cell)
          if (cell / step % std::size_t(size) == std::size_t(i))
            products[cell * std::size_t(options.rank) + r] *= a;
      }
  }
  const auto courses = time_courses(options, random);

  SyntheticStream stream;
  double power = 0.0;
  for (int t = 0; t < options.slices; ++t) {
    std::vector<double>& low_rank = stream.low_rank.emplace_back(cells, 0.0);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      for (int r = 0; r < options.rank; ++r)
        low_rank[cell] += courses[t][r] * products[cell * std::size_t(options.rank) + r];
      low_rank[cell] *= options.scale;
      power += low_rank[cell] * low_rank[cell];
    }
  }
  stream.sigma =
      std::sqrt(power / (double(cells) * options.slices)) * std::pow(10.0, options.noise_db / 20.0);

  for (int t = 0; t < options.slices; ++t) {
    Slice& slice = stream.slices.emplace_back(options.shape);
    std::vector<std::uint8_t>& outlier = stream.outlier.emplace_back(cells, std::uint8_t{0});
    for (std::size_t cell = 0; cell < cells; ++cell) {
      double value = stream.low_rank[t][cell] + stream.sigma * random.normal();
      if (random.chance(options.outlier_share)) {
        outlier[cell] = 1;
        value += (random.chance(0.5) ? 1.0 : -1.0) * options.outlier_sigmas * stream.sigma;
      }
      slice.values[cell] = std::numeric_limits<double>::quiet_NaN();
      if (!random.chance(options.missing_share)) slice.set(cell, value);
    }
  }
  return stream;
}

}  // namespace outlierd::test
