#pragma once
// What a baseline is made of: it says what the past lets one expect of a slice, in values of its
// own scale, and then learns the slice. Scores are made from that by others: a plain z (z_method.h)
// or our calibration (calibrated_method.h).

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd::baselines {

inline constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Per cell; NaN where nothing is said: not predicted yet, or (residual, spread) not observed.
struct Prediction {
  std::vector<float> expected;  // in the unit of the data
  std::vector<float> residual;  // observed - expected, in values of the predictor's scale
  std::vector<float> spread;    // of such a residual, before this slice; positive
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  // Valid until the next call. second_of_day is local time. Missing bins are not told.
  virtual const Prediction& process(const Slice& slice, EpochSeconds time, int second_of_day) = 0;
};

// The running spread of each cell's residuals: 1.25 of their mean size, over half a day, each
// clipped at five spreads; at least half the median over cells.
class Spreads {
 public:
  Spreads(std::size_t cells, double bins_a_day);

  bool known(std::size_t cell) const { return seen_[cell] >= kKnownBins; }
  float of(std::size_t cell) const { return std::max(spread_[cell], floor_); }
  void learn(std::size_t cell, float residual);
  void end_bin();

 private:
  static constexpr int kKnownBins = 10;

  float weight_, floor_ = 1e-12f;
  std::uint64_t bins_ = 0;
  std::vector<float> spread_;
  std::vector<std::uint8_t> seen_;
};

}  // namespace outlierd::baselines
