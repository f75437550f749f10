#include "core/detect/standardizer.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr float kFloorShare = 0.5f;  // of the median spread
constexpr float kLeastFloor = 1e-12f;
constexpr std::uint64_t kFloorBins = 12;
constexpr std::size_t kSample = 20000;

}  // namespace

Standardizer::Standardizer(std::size_t cells, double bins_a_day)
    : level_weight_(float(std::min(0.5, 4.0 / bins_a_day))),
      spread_weight_(float(std::min(0.5, 2.0 / bins_a_day))),
      level_(cells, 0.0f),
      spread_(cells, 0.0f),
      seen_(cells, 0) {}

void Standardizer::end_bin() {
  if (bins_++ % kFloorBins != 0 && bins_ > 2 * kFloorBins) return;
  std::vector<float> sample;
  const std::size_t step = 1 + spread_.size() / kSample;
  for (std::size_t cell = 0; cell < spread_.size(); cell += step)
    if (spread_[cell] > 0.0f) sample.push_back(spread_[cell]);
  if (sample.empty()) return;
  const auto middle = sample.begin() + std::ptrdiff_t(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  floor_ = std::max(kLeastFloor, kFloorShare * *middle);
}

void Standardizer::exchange(StateStream& stream) {
  stream.number(floor_, kLeastFloor, 1e30f);
  stream.number(bins_);
  stream.per_cell(level_);
  stream.per_cell(spread_);
  stream.per_cell(seen_);
}

}  // namespace outlierd::detect
