#pragma once
// How restless a network is at each time of the local day. Some are stirred every midnight, by what
// they run or by what measures them: a score counts less where the same time of earlier days was
// restless too.
//
//   calm = min(1, usual / at this time)^(1/2)
//
// of the mean of the highest tenth of a slice's tail scores.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/state_stream.h"

namespace outlierd::detect {

class Restlessness {
 public:
  explicit Restlessness(int bin_seconds);

  // What a score counts at this time of the day, in (0, 1]; 1 for the first two days.
  float calm(int second_of_day) const;
  // How restless a slice is by its tail scores, as they were before that; NaN: there is none.
  static float of(std::span<const float> tails);
  void learn(int second_of_day, float restless);
  void exchange(StateStream& stream);

 private:
  std::size_t slot_of(int second_of_day) const;

  int slot_seconds_;
  double usual_ = 0.0;
  std::int64_t slices_ = 0;
  std::vector<float> mean_;         // of each slot
  std::vector<std::uint8_t> days_;  // that each slot has seen, 255 at most
};

}  // namespace outlierd::detect
