#pragma once
// How rare a deviation is, for many series of one kind (MODEL section 6 step 6).
//
// Each series has a level of its own that 2% of its deviations exceed, for rises and for falls;
// beyond it the logarithm of a deviation is exponential, with a shape pooled over the series. So
// one score means the same everywhere: -log10 of how often something as large is seen.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/lanes.h"
#include "core/detect/state_stream.h"

namespace outlierd::detect {

class Tails {
 public:
  // A deviation is a mean over so many bins: one of them says something new.
  explicit Tails(std::size_t series, float horizon_bins = 1.0f);

  // Signed as the deviation; 0 for 0.
  float score(std::size_t series, float deviation) const {
    const bool up = deviation >= 0.0f;
    const float ratio = std::abs(deviation) / (up ? up_ : down_)[series];
    const float tail =
        ratio <= 1.0f ? kAtLevel * ratio : kAtLevel + std::log(ratio) * slope(series, up);
    return std::copysign(tail, deviation);
  }
  template <class At>
  Lanes score_at(At at, Lanes deviation) const {
    const LaneMask up = deviation >= Lanes{};
    const Lanes level = choose(up, load(up_.data(), at), load(down_.data(), at));
    const Lanes ratio = magnitude(deviation) / level;
    Lanes score = with_sign(kAtLevel * ratio, deviation);
    for (unsigned far = bits_of(ratio > splat(1.0f)); far != 0; far &= far - 1) {
      const auto lane = std::size_t(std::countr_zero(far));  // few: the logarithm can wait
      if (lane < at.count) score[lane] = this->score(at.cell + lane, deviation[lane]);
    }
    return score;
  }
  // The deviation, not negative, at which the score reaches `tail`.
  float deviation_at(std::size_t series, float tail, bool up) const {
    return deviations_at(FewCells{series, 1}, tail, up)[0];
  }
  template <class At>
  Lanes deviations_at(At at, float tail, bool up) const {
    const Lanes level = load((up ? up_ : down_).data(), at);
    if (tail <= kAtLevel) return level * tail / kAtLevel;
    const Lanes beyond = (tail - kAtLevel) / slope_at(at, up);
    return level * exponential(lowest(beyond, splat(60.0f)));
  }

  void learn(std::size_t series, float deviation) {
    const bool rise = deviation >= 0.0f;
    const float size = std::abs(deviation);
    step(up_[series], rise ? size : 0.0f, up_own_[series], up_shape_, up_count_);
    step(down_[series], rise ? 0.0f : size, down_own_[series], down_shape_, down_count_);
  }
  // The same for the series of [begin, end) that were observed; deviation and observed begin with
  // the first of them. Ranges apart may be learned at the same time: what they say of the pooled
  // shapes is in `beyond`, for pool() to take in, range by range in order.
  struct Exceedances {
    std::vector<float> up, down;
    void clear() {
      up.clear();
      down.clear();
    }
  };
  void learn(std::size_t begin, std::size_t end, const float* deviation,
             const std::uint8_t* observed, Exceedances& beyond);
  void pool(const Exceedances& beyond);
  // After the series of a bin: the gain falls, the pooled shapes take effect.
  void end_bin();

  void exchange_cells(StateStream& stream);  // series = cells
  void exchange_nodes(StateStream& stream);  // series = nodes x metrics

  static constexpr float kRate = 0.02f;
  static constexpr float kAtLevel = 1.69897f;  // -log10 of the rate

 private:
  // Half the pooled shape, half the series' own.
  float slope(std::size_t series, bool up) const {
    const float shape = (1.0f - kOwn) * float(up ? up_shape_ : down_shape_) +
                        kOwn * (up ? up_own_ : down_own_)[series];
    return 1.0f / (std::max(shape, kLeastShape) * 2.302585f);
  }
  template <class At>
  Lanes slope_at(At at, bool up) const {
    const Lanes shape = (1.0f - kOwn) * float(up ? up_shape_ : down_shape_) +
                        kOwn * load((up ? up_own_ : down_own_).data(), at);
    return 1.0f / (highest(shape, splat(kLeastShape)) * 2.302585f);
  }
  void step(float& level, float size, float& own, double& shape, double& count) {
    if (size > level) {
      pool(exceed(level, size, own), shape, count);
    } else {
      level = std::max(level * fall_, kLeastLevel);
    }
  }
  // A deviation beyond its level: how far, in logarithms.
  float exceed(float& level, float size, float& own) const {
    const float excess = std::min(std::log(size / level), kMostExcess);
    own += own_weight_ * (excess - own);
    level = std::max(level * rise_, kLeastLevel);
    return excess;
  }
  void pool(float excess, double& shape, double& count) const {
    count += news_;
    shape += news_ * (double(excess) - shape) / count;
  }
  template <class At>
  void step_at(At at, Lanes size, LaneMask observed, float* levels, float* own,
               std::vector<float>& beyond) const;
  void set_gain();
  void exchange_pooled(StateStream& stream);

  static constexpr float kMostExcess = 3.0f;
  static constexpr float kLeastLevel = 0.5f;
  static constexpr float kLeastShape = 0.05f;
  static constexpr float kOwn = 0.5f;         // of the shape
  static constexpr float kOwnWeight = 0.05f;  // of an exceedance

  std::vector<float> up_, down_, up_own_, down_own_;
  double up_shape_, down_shape_, up_count_, down_count_;
  std::uint64_t bins_ = 0;
  double news_;  // in a bin
  float own_weight_;
  float rise_ = 1.0f, fall_ = 1.0f;
};

}  // namespace outlierd::detect
