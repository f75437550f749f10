#pragma once
// Volumes to the values a baseline works on, and back. Logarithm and root add a small volume first,
// a fifth of what a cell carried on average in the first bin that carried anything, so that an
// idle pair is not infinitely far from a busy one.

#include <algorithm>
#include <cmath>

#include "core/traffic/slice.h"

namespace outlierd::baselines {

enum class Scale { kLinear, kLog, kRoot };  // x, log(x + x0), (x + x0)^(1/4)

class ValueScale {
 public:
  explicit ValueScale(Scale scale) : scale_(scale) {}

  // Before the first use of a slice; false while nothing was ever carried.
  bool ready(const Slice& slice) {
    if (offset_ > 0.0) return true;
    double volume = 0.0, cells = 0.0;
    for (std::size_t cell = 0; cell < slice.values.size(); ++cell)
      if (slice.observed[cell]) volume += slice.values[cell], cells += 1.0;
    if (cells > 0.0) offset_ = kShare * volume / cells;
    return offset_ > 0.0;
  }
  float value_of(double volume) const {
    if (scale_ == Scale::kLinear) return float(volume);
    if (scale_ == Scale::kLog) return float(std::log(volume + offset_));
    return float(std::sqrt(std::sqrt(volume + offset_)));
  }
  float volume_of(double value) const {
    if (scale_ == Scale::kLinear) return float(value);
    if (scale_ == Scale::kLog) return float(std::exp(std::min(value, 80.0)) - offset_);
    const double root = std::max(0.0, value);
    return float(root * root * root * root - offset_);
  }

 private:
  static constexpr double kShare = 0.2;

  Scale scale_;
  double offset_ = 0.0;
};

}  // namespace outlierd::baselines
