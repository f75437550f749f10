#include "core/evaluate/bootstrap.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace outlierd::evaluate {

Estimate bootstrap_mean(std::span<const double> values, std::uint64_t seed, int resamples) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {kNothing, kNothing, kNothing};
  const double count = double(values.size());
  Estimate estimate;
  estimate.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  std::mt19937_64 engine(seed);
  std::vector<double> means;
  for (int k = 0; k < resamples; ++k) {
    double sum = 0.0;
    // The high half of 64 bits times the count: no library's distribution, so the same everywhere.
    for (std::size_t draw = 0; draw < values.size(); ++draw)
      sum += values[std::size_t(((engine() >> 32) * values.size()) >> 32)];
    means.push_back(sum / count);
  }
  std::sort(means.begin(), means.end());
  const auto at = [&](double share) { return means[std::size_t(share * double(resamples - 1))]; };
  estimate.low = at(0.025);
  estimate.high = at(0.975);
  return estimate;
}

}  // namespace outlierd::evaluate
