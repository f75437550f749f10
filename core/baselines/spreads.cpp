#include <algorithm>

#include "core/baselines/predictor.h"

namespace outlierd::baselines {
namespace {

constexpr float kSigmaOfMean = 1.25f;  // of a normal variable's mean size
constexpr float kClip = 5.0f;
constexpr int kFirstBins = 5;
constexpr float kFloorShare = 0.5f;
constexpr std::uint64_t kFloorBins = 12;

}  // namespace

Spreads::Spreads(std::size_t cells, double bins_a_day)
    : weight_(float(std::min(0.5, 2.0 / bins_a_day))), spread_(cells, 0.0f), seen_(cells, 0) {}

void Spreads::learn(std::size_t cell, float residual) {
  const int seen = seen_[cell];
  const float limit = seen < kFirstBins ? std::numeric_limits<float>::max() : kClip * of(cell);
  const float weight = std::max(weight_, 1.0f / float(seen + 1));
  spread_[cell] += weight * (kSigmaOfMean * std::min(std::abs(residual), limit) - spread_[cell]);
  if (seen < 255) seen_[cell] = std::uint8_t(seen + 1);
}

void Spreads::end_bin() {
  if (bins_++ % kFloorBins != 0 && bins_ > 2 * kFloorBins) return;
  std::vector<float> sample;
  for (float spread : spread_)
    if (spread > 0.0f) sample.push_back(spread);
  if (sample.empty()) return;
  const auto middle = sample.begin() + std::ptrdiff_t(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  floor_ = std::max(1e-12f, kFloorShare * *middle);
}

}  // namespace outlierd::baselines
