#pragma once
// Volumes to values whose spread hardly depends on their size, and back (MODEL section 6
// step 1): v = (x + x0)^(1/4), x0 a fifth of what a cell carries on average.
//
// x0 follows the network when its traffic has grown or shrunk by half; who holds values is told so.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/detect/lanes.h"
#include "core/detect/state_stream.h"

namespace outlierd::detect {

class VolumeScale {
 public:
  float value_of(double volume) const { return float(std::sqrt(std::sqrt(volume + offset_))); }
  float volume_of(float value) const {
    const double square = double(value) * double(value);
    return float(std::max(0.0, square * square - offset_));
  }
  template <class At>
  Lanes value_at(At at, const double* volumes) const {
    const auto half = [&](std::size_t k) {
      return square_root(square_root(load_half(volumes, at, k) + offset_));
    };
    return joined(half(0), half(1));
  }
  Lanes volume_of(Lanes value) const {
    const auto half = [&](std::size_t k) {
      const DoubleLanes wide = half_of(value, k), square = wide * wide;
      const DoubleLanes volume = square * square - offset_;
      return volume > DoubleLanes{} ? volume : DoubleLanes{};
    };
    return joined(half(0), half(1));
  }
  double offset() const { return offset_; }

  // The volume of a bin and how many cells it was seen in. True if the scale has changed, and with
  // it every value: those held must be re-expressed by volume_of() before and value_of() after.
  bool learn(double volume, double cells);
  // The scale learn() asked for comes into force.
  void adopt() { offset_ = wanted_; }
  void exchange(StateStream& stream);

 private:
  double offset_ = 0.0, wanted_ = 0.0;
  double mean_ = 0.0;  // volume a cell
  std::vector<double> first_;
};

}  // namespace outlierd::detect
