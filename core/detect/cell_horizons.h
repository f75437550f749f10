#pragma once
// One view's cells over three horizons (MODEL section 6 step 4 and b): one bin against a
// mix of quick and slow levels, and the recent mean of 4 and of 16 bins against a level eight times
// slower. All in spreads of the cell's own.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/lanes.h"
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

inline Lanes still_there(Lanes recent_gap, Lanes gap) {
  const Lanes none = {};
  return choose(recent_gap == none, none, clamped(2.0f * gap / recent_gap, none, splat(1.0f)));
}

// What a slice is to a cell that has been scored.
enum Lesson : std::uint8_t {
  kSkip,   // nothing
  kHold,   // flagged: only what is recent moves
  kLearn,  // taken in
};

class CellHorizons {
 public:
  CellHorizons(std::size_t cells, double bins_a_day);

  // deviation() and centre() of this slice, for the cells observed; 0 for a cell never seen.
  void score(std::span<const float> values, std::span<const std::uint8_t> observed) {
    score(values, observed, 0, values.size());
  }
  // The same for the cells of [begin, end); ranges apart may be scored at the same time.
  void score(std::span<const float> values, std::span<const std::uint8_t> observed,
             std::size_t begin, std::size_t end);
  std::span<const float> deviation(std::size_t horizon) const { return deviation_[horizon]; }
  // The level that each horizon compares with; for the first the value that was expected.
  float centre(std::size_t horizon, std::size_t cell) const {
    return horizon == 0 ? predicted_[cell] : base_[horizon - 1][cell];
  }
  float spread(std::size_t cell) const {  // of one bin about its centre
    return spread_at(FewCells{cell, 1})[0];
  }
  template <class At>
  Lanes spread_at(At at) const {
    return highest(highest(load(spread_.data(), at), load(fast_.data(), at)), splat(kLeastSpread));
  }
  template <class At>
  Lanes centre_at(std::size_t horizon, At at) const {
    return load((horizon == 0 ? predicted_ : base_[horizon - 1]).data(), at);
  }
  // After the last bin learned: what is expected of the next.
  float next(std::size_t cell) const;

  // Takes the values of the last score() in. Of a cell never seen everything starts from its value.
  void learn(std::span<const float> values, std::span<const std::uint8_t> lessons,
             std::size_t begin, std::size_t end);
  void learn(std::span<const float> values, std::span<const std::uint8_t> lessons) {
    learn(values, lessons, 0, values.size());
  }
  void exchange(StateStream& stream);

 private:
  static constexpr std::size_t kLevels = 3;
  static constexpr std::array<float, kLevels> kLevelWeights = {0.5f, 0.125f, 0.03125f};
  static constexpr float kLeastSpread = 0.05f;  // of standardised values
  using Column = std::vector<float>;

  template <class At>
  Lanes next_at(At at) const;
  template <class At>
  void score_at(At at, const float* values, const std::uint8_t* observed);
  template <class At>
  void learn_at(At at, const float* values, const std::uint8_t* lessons);

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
