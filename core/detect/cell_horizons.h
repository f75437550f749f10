#pragma once
// One view's cells over three horizons (MODEL section 6 step 4 and b): one bin against a
// mix of quick and slow levels, and the recent mean of 4 and of 16 bins against a level eight times
// slower. All in spreads of the cell's own.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/state_stream.h"

namespace outlierd::detect {

inline constexpr std::size_t kHorizons = 3;
inline constexpr std::array<float, kHorizons> kHorizonBins = {1.0f, 4.0f, 16.0f};

// What has been so for a while counts only as far as it still is: 0 once the gap of this bin has
// closed, 1 while it is at least half of the recent one.
inline float still_there(float recent_gap, float gap) {
  if (recent_gap == 0.0f) return 0.0f;
  return std::clamp(2.0f * gap / recent_gap, 0.0f, 1.0f);
}

class CellHorizons {
 public:
  CellHorizons(std::size_t cells, double bins_a_day);

  // deviation() and centre() of this slice, for the cells observed; 0 for a cell never seen.
  void score(std::span<const float> values, std::span<const std::uint8_t> observed);
  std::span<const float> deviation(std::size_t horizon) const { return deviation_[horizon]; }
  // The level that each horizon compares with; for the first the value that was expected.
  float centre(std::size_t horizon, std::size_t cell) const {
    return horizon == 0 ? predicted_[cell] : base_[horizon - 1][cell];
  }
  float spread(std::size_t cell) const;  // of one bin about its centre
  // After the last bin learned: what is expected of the next.
  float next(std::size_t cell) const;

  // Takes the value of the last score() in.
  void learn(std::size_t cell, float value);
  // Of a flagged cell: only what is recent moves.
  void hold(std::size_t cell);
  // A new level: everything starts from it.
  void settle(std::size_t cell, float value);
  void exchange(StateStream& stream);

 private:
  static constexpr std::size_t kLevels = 3;
  static constexpr std::array<float, kLevels> kLevelWeights = {0.5f, 0.125f, 0.03125f};
  using Column = std::vector<float>;

  float spread_weight_;
  std::array<Column, kLevels> level_, miss_;
  Column spread_, fast_;
  std::array<Column, kHorizons - 1> base_, recent_, width_;
  std::vector<std::uint8_t> seen_;

  std::array<Column, kHorizons> deviation_;  // of the slice at hand
  std::array<Column, kHorizons - 1> recent_now_;
  Column predicted_;
};

}  // namespace outlierd::detect
