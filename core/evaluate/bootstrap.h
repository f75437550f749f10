#pragma once
// Intervals of means over events, by resampling them: seeded, the same on every machine. Two
// methods on the same events are compared by the differences event by event.

#include <cstdint>
#include <span>

namespace outlierd::evaluate {

struct Estimate {
  double mean = 0.0, low = 0.0, high = 0.0;  // 95 %; NaN of nothing
};

Estimate bootstrap_mean(std::span<const double> values, std::uint64_t seed = 1,
                        int resamples = 2000);

}  // namespace outlierd::evaluate
