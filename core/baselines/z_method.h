#pragma once
// A baseline as it is usually run: the score of a cell is its residual over its spread. No
// calibration, no structure, no events.

#include <memory>

#include "core/baselines/method.h"
#include "core/baselines/predictor.h"

namespace outlierd::baselines {

std::unique_ptr<Method> make_z_method(const Network& network, std::unique_ptr<Predictor> predictor);

inline constexpr int kSecondsADay = 86400;

// Of the local day, from UTC and what the zone is ahead of it.
inline int second_of_day(EpochSeconds time, int local_offset) {
  return int((time % kSecondsADay + local_offset % kSecondsADay + 2 * kSecondsADay) % kSecondsADay);
}

// Values that are no volume were not measured: NaN, infinite, negative, too large for a float.
Slice measured_part(const Slice& slice);

}  // namespace outlierd::baselines
