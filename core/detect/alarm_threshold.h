#pragma once
// The threshold in force, learned from the past alone: the lowest at which the peaks of the last
// ten days would have cost no more than the budget of alarms. Alarms are counted as an operator
// feels them: bins over the threshold, gaps of up to two bridged, are one, and one more for every
// further hour. Before there is a past, a calibrated score is taken at its word.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/state_stream.h"

namespace outlierd::detect {

// What peaks (scores in sigmas, one a bin) cost at a threshold.
std::int64_t alarms_over(std::span<const float> peaks, float threshold, int bins_an_hour);

class AlarmThreshold {
 public:
  AlarmThreshold(double alarms_per_day, int bin_seconds, std::size_t cells);

  float sigmas() const { return sigmas_; }
  // The largest |score| of a bin, in sigmas. Only bins that were scored are added.
  void add(float peak);
  void exchange(StateStream& stream);

 private:
  double cost(std::span<const float> peaks, float threshold) const;
  void learn();
  void keep_newest();

  double budget_, bins_a_day_, cells_;
  int bins_an_hour_;
  std::size_t capacity_;
  std::vector<float> peaks_;  // a ring once full
  std::uint64_t added_ = 0;
  float sigmas_ = 0.0f;
};

}  // namespace outlierd::detect
