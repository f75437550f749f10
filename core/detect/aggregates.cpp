#include "core/detect/aggregates.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr float kSumSigmaOfMean = 1.29f;
constexpr float kSumClip = 3.0f;
constexpr float kSumFastClip = 8.0f;
constexpr int kSumFirstBins = 5;
constexpr float kUsualWeight = 0.01f;
constexpr float kSeenShare = 0.5f;  // of the usual cells

}  // namespace

NodeSums::NodeSums(std::size_t series, float horizon_bins, double bins_a_day, float least_spread)
    : level_weight_(horizon_bins > 1.0f ? 1.0f / 256.0f : 1.0f / 32.0f),
      spread_weight_(float(std::min(0.5, 2.0 / bins_a_day))),
      fast_weight_(1.0f / (12.0f * horizon_bins)),
      least_spread_(least_spread),
      level_(series, 0.0f),
      spread_(series, 0.0f),
      fast_(series, 0.0f),
      usual_(series, 0.0f),
      seen_(series, 0),
      tails_(series, horizon_bins),
      sum_(series, 0.0f),
      count_(series, 0.0f),
      deviation_(series, 0.0f) {}

void NodeSums::clear() {
  std::fill(sum_.begin(), sum_.end(), 0.0f);
  std::fill(count_.begin(), count_.end(), 0.0f);
}

void NodeSums::finish() {
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    deviation_[i] = 0.0f;
    if (count_[i] < 1.0f || count_[i] < kSeenShare * usual_[i]) continue;
    if (seen_[i] == 0) continue;
    deviation_[i] = (sum_[i] - level_[i]) / std::max({spread_[i], fast_[i], least_spread_});
  }
}

void NodeSums::learn(bool tails) {
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    if (count_[i] < 1.0f) continue;
    const bool enough = count_[i] >= kSeenShare * usual_[i];
    const float start = 1.0f / float(seen_[i] + 1);
    usual_[i] += std::max(kUsualWeight, start) * (count_[i] - usual_[i]);
    if (!enough) continue;
    if (tails && seen_[i] > 0) tails_.learn(i, deviation_[i]);
    const float unit = std::max(spread_[i], least_spread_);
    const float error = sum_[i] - level_[i], size = std::abs(error);
    const float limit = seen_[i] < kSumFirstBins ? 1e30f : kSumClip * unit;
    fast_[i] += fast_weight_ * (kSumSigmaOfMean * std::min(size, kSumFastClip * unit) - fast_[i]);
    spread_[i] +=
        std::max(spread_weight_, start) * (kSumSigmaOfMean * std::min(size, limit) - spread_[i]);
    level_[i] += std::max(level_weight_, start) * std::clamp(error, -limit, limit);
    if (seen_[i] < 255) ++seen_[i];
  }
  if (tails) tails_.end_bin();
}

void NodeSums::exchange(StateStream& stream) {
  for (auto* column : {&level_, &spread_, &fast_, &usual_}) stream.per_node(*column);
  stream.per_node(seen_);
  tails_.exchange_nodes(stream);
}

Shifts::Shifts(std::size_t series, float horizon_bins)
    : tails_(series, horizon_bins),
      shifts_(series),
      rise_(series),
      fall_(series),
      rising_(series),
      falling_(series) {}

template <class At>
void Shifts::add_at(At at, const float* deviation, std::int32_t origin) {
  const Lanes up = load(deviation, at), down = -up;
  const Lanes rise = load(rise_.data(), at), fall = load(fall_.data(), at);
  const LaneMask rises = up > rise, falls = down > fall;
  if (!any(rises | falls)) return;
  const LaneMask here = {origin, origin, origin, origin};
  store(rise_.data(), at, choose(rises, up, rise));
  store(fall_.data(), at, choose(falls, down, fall));
  store(rising_.data(), at, rises ? here : load(rising_.data(), at));
  store(falling_.data(), at, falls ? here : load(falling_.data(), at));
}

void Shifts::find(std::span<const float> deviation, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    rise_[i] = fall_[i] = 0.0f;
    rising_[i] = falling_[i] = -1;
  }
  for (std::size_t row = 0; row < deviation.size(); row += shifts_.size()) {
    const auto origin = std::int32_t(row / shifts_.size());
    for_lanes(begin, end, [&](auto at) { add_at(at, deviation.data() + row, origin); });
  }
  for (std::size_t i = begin; i < end; ++i) {
    const float smaller = std::min(rise_[i], fall_[i]);
    shifts_[i] = {smaller, tails_.score(i, smaller), rising_[i], falling_[i]};
  }
}

void Shifts::learn() {
  for (std::size_t i = 0; i < shifts_.size(); ++i) tails_.learn(i, shifts_[i].deviation);
  tails_.end_bin();
}

}  // namespace outlierd::detect
