#pragma once
// Each cell against its own slow level and spread (MODEL section 6 step 2):
// Z = (v - B)/s, B exponential over a quarter of a day, s over half a day, innovations clipped.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/lanes.h"
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
  void learn(std::size_t cell, float value) {
    learn_at(FewCells{cell, 1}, splat(value), LaneMask{-1});
  }

  template <class At>
  LaneMask known_at(At at) const {
    return load_bytes(seen_.data(), at) >= kKnownBins;
  }
  template <class At>
  Lanes level_at(At at) const {
    return load(level_.data(), at);
  }
  template <class At>
  Lanes spread_at(At at) const {
    return highest(load(spread_.data(), at), splat(floor_));
  }
  template <class At>
  Lanes standard_at(At at, Lanes value) const {
    return clamped((value - level_at(at)) / spread_at(at), splat(-kFurthest), splat(kFurthest));
  }
  // Of the cells in the mask.
  template <class At>
  void learn_at(At at, Lanes value, LaneMask learned);

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
  static constexpr float kClip = 3.0f;          // spreads
  static constexpr float kSigmaOfMean = 1.29f;  // of the clipped mean absolute deviation
  static constexpr int kFirstBins = 5;
  static constexpr int kKnownBins = 10;
  static constexpr float kFurthest = 100.0f;

  float level_weight_, spread_weight_, floor_ = 1e-12f;
  std::uint64_t bins_ = 0;
  std::vector<float> level_, spread_;
  std::vector<std::uint8_t> seen_;
};

template <class At>
void Standardizer::learn_at(At at, Lanes value, LaneMask learned) {
  const LaneMask seen = load_bytes(seen_.data(), at), first = seen == 0;
  const Lanes level = level_at(at), spread = load(spread_.data(), at);
  const Lanes start = 1.0f / to_float(seen + 1);
  const Lanes limit = choose(seen < kFirstBins, splat(1e30f), kClip * spread_at(at));
  const Lanes error = clamped(value - level, -limit, limit);
  const Lanes new_spread =
      spread + highest(splat(spread_weight_), start) * (kSigmaOfMean * magnitude(error) - spread);
  const Lanes new_level = level + highest(splat(level_weight_), start) * error;
  store(spread_.data(), at, choose(learned & ~first, new_spread, spread));
  store(level_.data(), at, choose(learned, choose(first, value, new_level), level));
  const LaneMask more = learned & (seen < 255);
  if (any(more)) store_bytes(seen_.data(), at, seen - more);
}

}  // namespace outlierd::detect
