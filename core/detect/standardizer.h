#pragma once
// Each cell against its own slow level and spread (MODEL section 6 step 2):
// Z = (v - B)/s, B exponential over a quarter of a day, s over half a day, innovations clipped.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/state_stream.h"

namespace outlierd::detect {

class Standardizer {
 public:
  Standardizer(std::size_t cells, double bins_a_day);

  // Seen often enough that its spread means something.
  bool known(std::size_t cell) const { return seen_[cell] >= kKnownBins; }
  float level(std::size_t cell) const { return level_[cell]; }
  float spread(std::size_t cell) const { return std::max(spread_[cell], floor_); }
  float standard(std::size_t cell, float value) const {
    return std::clamp((value - level_[cell]) / spread(cell), -kFurthest, kFurthest);
  }
  void learn(std::size_t cell, float value);
  // Adds to the level, when what is standardised is expressed differently.
  void shift(std::size_t cell, float by) { level_[cell] += by; }
  void rescale(std::size_t cell, float level, float factor) {
    level_[cell] = level;
    spread_[cell] *= factor;
  }
  // Sets the least spread, from those of all cells.
  void end_bin();
  void exchange(StateStream& stream);

 private:
  static constexpr int kKnownBins = 10;
  static constexpr float kFurthest = 100.0f;

  float level_weight_, spread_weight_, floor_ = 1e-12f;
  std::uint64_t bins_ = 0;
  std::vector<float> level_, spread_;
  std::vector<std::uint8_t> seen_;
};

}  // namespace outlierd::detect
