#pragma once
// What values a cell usually has: four quantiles of the last days, learned in small steps.
//
// A score says how far a cell moved from where it just was. Where it moved to counts too: a fall
// that ends where the cell often is, is the end of a burst and no incident, and a rise to what it
// has every day is less of one than a rise to what it never had.

#include <array>
#include <cstdint>
#include <vector>

#include "core/detect/lanes.h"
#include "core/detect/state_stream.h"

namespace outlierd::detect {

class UsualRange {
 public:
  UsualRange(std::size_t cells, double bins_a_day);

  // What a score of a cell with this value counts, in (0, 1]; its sign is the direction.
  template <class At>
  Lanes weight_at(At at, Lanes value, Lanes score) const;
  // A value below which a fall counts in full; huge before the first day is over.
  template <class At>
  Lanes low_at(At at) const {
    return active() ? load(quantiles_[0].data(), at) : splat(kUnset);
  }
  // Of the cells in the mask; spread is that of their values.
  template <class At>
  void learn_at(At at, Lanes value, Lanes spread, LaneMask learned);
  void end_bin();
  // All values held, by a function of a value.
  template <class F>
  void reexpress(F f) {
    for (auto& quantile : quantiles_)
      for (float& value : quantile)
        if (value < kUnset) value = f(value);
  }
  void exchange(StateStream& stream);

 private:
  static constexpr std::size_t kQuantiles = 4;
  static constexpr std::array<float, kQuantiles> kRates = {0.02f, 0.2f, 0.7f, 0.95f};
  static constexpr std::array<float, kQuantiles> kStart = {-2.05f, -0.84f, 0.52f,
                                                           1.64f};  // spreads
  static constexpr float kReturn = 0.5f;  // what a fall to a usual value counts less
  static constexpr float kAgain = 0.1f;   // and a rise
  static constexpr float kUnset = 1e30f;

  bool active() const { return bins_ >= day_; }
  // How far a value is from the outer quantile to the inner one, from 0 to 1.
  static Lanes inside(Lanes value, Lanes outer, Lanes inner);

  std::uint64_t day_;  // in bins
  float least_step_, step_;
  std::uint64_t bins_ = 0;
  std::array<std::vector<float>, kQuantiles> quantiles_;
};

inline Lanes UsualRange::inside(Lanes value, Lanes outer, Lanes inner) {
  const Lanes width = inner - outer;
  const Lanes part = (value - outer) / choose(width == Lanes{}, splat(1.0f), width);
  return clamped(part, Lanes{}, splat(1.0f));
}

template <class At>
Lanes UsualRange::weight_at(At at, Lanes value, Lanes score) const {
  const Lanes one = splat(1.0f);
  if (!active()) return one;
  const Lanes lowest = load(quantiles_[0].data(), at), low = load(quantiles_[1].data(), at);
  const Lanes high = load(quantiles_[2].data(), at), highest = load(quantiles_[3].data(), at);
  const Lanes weight = choose(score < Lanes{}, one - kReturn * inside(value, lowest, low),
                              one - kAgain * inside(value, highest, high));
  return choose(lowest == splat(kUnset), one, weight);
}

// Robbins and Monro: a step up in the share of cases that the quantile leaves above it, else down.
template <class At>
void UsualRange::learn_at(At at, Lanes value, Lanes spread, LaneMask learned) {
  for (std::size_t k = 0; k < kQuantiles; ++k) {
    const Lanes now = load(quantiles_[k].data(), at);
    const Lanes below = choose(value < now, splat(1.0f), Lanes{});
    const Lanes next = choose(now == splat(kUnset), value + kStart[k] * spread,
                              now + step_ * spread * (kRates[k] - below));
    store(quantiles_[k].data(), at, choose(learned, next, now));
  }
}

}  // namespace outlierd::detect
