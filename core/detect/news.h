#pragma once
// What is new about a score. A cell that was as far out in the last days tells little by being so
// again, and an incident is news when it comes and while it grows, not for as long as it lasts.
//
//   weighed = score if |score| > highest, else 4/5 score
//
// where highest is the largest score of the cell in that direction, fading by e in two days. In
// sigmas. What is weighed decides who is told; what is learned goes by the score itself.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/detect/lanes.h"
#include "core/detect/state_stream.h"

namespace outlierd::detect {

class News {
 public:
  static constexpr float kAgain = 0.8f;  // what counts of a score that is no news

  News(std::size_t cells, int bin_seconds, float again = kAgain)
      : again_(again),
        fade_(float(std::exp(-bin_seconds / kFadeSeconds))),
        up_(cells, 0.0f),
        down_(cells, 0.0f) {}

  // Signed; NaN stays NaN.
  float weighed(std::size_t cell, float score) const {
    return std::abs(score) > before(cell, score >= 0.0f) ? score : again_ * score;
  }
  template <class At>
  Lanes weighed_at(At at, Lanes score) const {
    const Lanes before = choose(score >= Lanes{}, load(up_.data(), at), load(down_.data(), at));
    return choose(magnitude(score) > before, score, again_ * score);
  }
  // The largest score, not negative, that weighed is not over the limit.
  float reach(std::size_t cell, float limit, bool up) const {
    return std::min(std::max(limit, before(cell, up)), limit / again_);
  }
  // Whether a score over the limit may not be news.
  bool told_lately(std::size_t cell, float limit) const {
    return std::max(up_[cell], down_[cell]) > limit;
  }
  // A slice later. The scores themselves, not as weighed; NaN: the cell has none.
  template <class At>
  void learn_at(At at, Lanes score) {
    const Lanes none = {};
    const Lanes rise = choose(score > none, score, none), fall = choose(score < none, -score, none);
    store(up_.data(), at, highest(fade_ * load(up_.data(), at), rise));
    store(down_.data(), at, highest(fade_ * load(down_.data(), at), fall));
  }
  void exchange(StateStream& stream) {
    if (stream.version() < 4) return;
    stream.per_cell(up_);
    stream.per_cell(down_);
  }

 private:
  static constexpr double kFadeSeconds = 2 * 86400.0;

  float before(std::size_t cell, bool up) const { return (up ? up_ : down_)[cell]; }

  float again_, fade_;
  std::vector<float> up_, down_;
};

}  // namespace outlierd::detect
