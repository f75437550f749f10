#include "core/detect/cell_horizons.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr float kSigmaOfMean = 1.29f;
constexpr float kClip = 3.0f;        // spreads, of what is learned
constexpr float kRecentClip = 6.0f;  // spreads, of what enters a recent mean
constexpr float kFastClip = 8.0f;
constexpr float kFastWeight = 1.0f / 12.0f;
constexpr float kMissWeight = 1.0f / 64.0f;
constexpr float kLeastSpread = 0.05f;  // of standardised values
constexpr float kFirstSpread = 1.0f;
constexpr int kFirstBins = 5;
constexpr float kSlower = 8.0f;  // a base than its horizon

float to_the_eighth(float x) {
  const float square = x * x, fourth = square * square;
  return fourth * fourth;
}

}  // namespace

CellHorizons::CellHorizons(std::size_t cells, double bins_a_day)
    : spread_weight_(float(std::min(0.5, 2.0 / bins_a_day))),
      spread_(cells, kFirstSpread),
      fast_(cells, 0.0f),
      seen_(cells, 0),
      predicted_(cells, 0.0f) {
  for (auto* columns : {&level_, &miss_}) columns->fill(Column(cells, 0.0f));
  for (Column& miss : miss_) miss.assign(cells, kFirstSpread);
  for (auto* columns : {&base_, &recent_, &recent_now_}) columns->fill(Column(cells, 0.0f));
  for (Column& width : width_) width.assign(cells, kFirstSpread);
  deviation_.fill(Column(cells, 0.0f));
}

float CellHorizons::spread(std::size_t cell) const {
  return std::max({spread_[cell], fast_[cell], kLeastSpread});
}

// Levels weigh by how well they have predicted.
float CellHorizons::next(std::size_t cell) const {
  const float unit = std::max(spread_[cell], kLeastSpread);
  float sum = 0.0f, weights = 0.0f;
  for (std::size_t j = 0; j < kLevels; ++j) {
    const float weight = to_the_eighth(unit / std::max(miss_[j][cell], 0.1f * unit));
    sum += weight * level_[j][cell];
    weights += weight;
  }
  return sum / weights;
}

void CellHorizons::score(std::span<const float> values, std::span<const std::uint8_t> observed) {
  for (std::size_t cell = 0; cell < seen_.size(); ++cell) {
    predicted_[cell] = next(cell);
    for (Column& deviation : deviation_) deviation[cell] = 0.0f;
    if (!observed[cell] || seen_[cell] == 0) continue;
    const float value = values[cell];
    deviation_[0][cell] = (value - predicted_[cell]) / spread(cell);
    for (std::size_t k = 0; k + 1 < kHorizons; ++k) {
      const float reach = kRecentClip * std::max(spread_[cell], kLeastSpread);
      const float entering = std::clamp(value, base_[k][cell] - reach, base_[k][cell] + reach);
      recent_now_[k][cell] = recent_[k][cell] + (entering - recent_[k][cell]) / kHorizonBins[k + 1];
      const float gap = recent_now_[k][cell] - base_[k][cell];
      deviation_[k + 1][cell] =
          still_there(gap, value - base_[k][cell]) * gap / std::max(width_[k][cell], kLeastSpread);
    }
  }
}

void CellHorizons::learn(std::size_t cell, float value) {
  const int seen = seen_[cell];
  if (seen == 0) return settle(cell, value);
  if (seen < 255) ++seen_[cell];
  const float start = 1.0f / float(seen + 1);
  const float unit = std::max(spread_[cell], kLeastSpread);
  const float size = std::abs(value - predicted_[cell]);
  const float limit = seen < kFirstBins ? 1e30f : kClip * unit;
  fast_[cell] += kFastWeight * (kSigmaOfMean * std::min(size, kFastClip * unit) - fast_[cell]);
  spread_[cell] +=
      std::max(spread_weight_, start) * (kSigmaOfMean * std::min(size, limit) - spread_[cell]);
  for (std::size_t j = 0; j < kLevels; ++j) {
    const float error = value - level_[j][cell];
    miss_[j][cell] +=
        std::max(kMissWeight, start) * (std::min(std::abs(error), limit) - miss_[j][cell]);
    level_[j][cell] += std::max(kLevelWeights[j], start) * std::clamp(error, -limit, limit);
  }
  for (std::size_t k = 0; k + 1 < kHorizons; ++k) {
    const float gap = recent_now_[k][cell] - base_[k][cell];
    const float width = std::max(width_[k][cell], kLeastSpread);
    width_[k][cell] += std::max(spread_weight_, start) *
                       (kSigmaOfMean * std::min(std::abs(gap), kClip * width) - width_[k][cell]);
    const float weight = std::max(1.0f / (kSlower * kHorizonBins[k + 1]), start);
    base_[k][cell] += weight * std::clamp(value - base_[k][cell], -limit, limit);
    recent_[k][cell] = recent_now_[k][cell];
  }
}

void CellHorizons::hold(std::size_t cell) {
  for (std::size_t k = 0; k + 1 < kHorizons; ++k) recent_[k][cell] = recent_now_[k][cell];
}

void CellHorizons::settle(std::size_t cell, float value) {
  for (Column& level : level_) level[cell] = value;
  for (std::size_t k = 0; k + 1 < kHorizons; ++k) base_[k][cell] = recent_[k][cell] = value;
  if (seen_[cell] == 0) seen_[cell] = 1;
}

void CellHorizons::exchange(StateStream& stream) {
  for (auto* columns : {&level_, &miss_})
    for (Column& column : *columns) stream.per_cell(column);
  stream.per_cell(spread_);
  stream.per_cell(fast_);
  for (auto* columns : {&base_, &recent_, &width_})
    for (Column& column : *columns) stream.per_cell(column);
  stream.per_cell(seen_);
}

}  // namespace outlierd::detect
