#include "core/detect/detector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/detect/sigma.h"

namespace outlierd::detect {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr int kReadyBins = 20;
constexpr float kWeight = 0.1f;

}  // namespace

Detector::Detector(const Network& network, DetectorOptions options)
    : network_(network), options_(options) {
  const std::size_t cells = cell_count(network.shape());
  level_.assign(cells, 0.0f);
  spread_.assign(cells, 0.0f);
  value_.assign(cells, 0.0f);
  seen_.assign(cells, 0);
  run_.assign(cells, 0);
  scores_ = {std::vector<float>(cells, kUnknown), std::vector<float>(cells, kUnknown),
             std::vector<float>(cells, kUnknown)};
}

void Detector::skip(std::int64_t) {}
double Detector::warmup() const {
  return std::min(1.0, double(bins_) * network_.bin_seconds / 172800.0);
}
ModelSummary Detector::model_summary() const { return {}; }
double Detector::evidence_bound() { return kUnknown; }
bool Detector::ready() const { return bins_ >= kReadyBins; }

const CellScores& Detector::score(const Slice& slice, int) {
  slice_ = slice;
  for (std::size_t cell = 0; cell < level_.size(); ++cell) {
    scores_.tail[cell] = scores_.own_tail[cell] = kUnknown;
    scores_.expected[cell] = seen_[cell] ? std::pow(level_[cell], 4.0f) : kUnknown;
    if (!slice.observed[cell]) continue;
    value_[cell] = std::sqrt(std::sqrt(float(slice.values[cell])));
    if (!ready() || seen_[cell] < kReadyBins) continue;
    const float z = (value_[cell] - level_[cell]) / std::max(spread_[cell], 1e-30f);
    const float tail = std::min(std::abs(z), 100.0f);
    scores_.tail[cell] = scores_.own_tail[cell] = std::copysign(tail, z);
  }
  return scores_;
}

void Detector::band(std::size_t cell, float tail, float& low, float& high) const {
  const float reach = tail * spread_[cell];
  low = std::pow(std::max(0.0f, level_[cell] - reach), 4.0f);
  high = std::pow(level_[cell] + reach, 4.0f);
}

void Detector::learn(std::span<const std::uint32_t> flagged) {
  settled_.clear();
  ++bins_;
  for (std::size_t cell = 0; cell < level_.size(); ++cell) {
    if (!slice_.observed[cell]) continue;
    if (std::binary_search(flagged.begin(), flagged.end(), std::uint32_t(cell))) {
      if (++run_[cell] < options_.model.level_slices) continue;
      level_[cell] = value_[cell];
      settled_.push_back(std::uint32_t(cell));
    }
    run_[cell] = 0;
    const float weight = std::max(kWeight, 1.0f / float(seen_[cell] + 1));
    const float error = value_[cell] - level_[cell];
    if (seen_[cell] > 0) spread_[cell] += weight * (1.25f * std::abs(error) - spread_[cell]);
    level_[cell] += weight * error;
    if (seen_[cell] < 255) ++seen_[cell];
  }
}

void Detector::exchange(StateStream& stream) {
  stream.number(bins_, std::int64_t{0}, std::int64_t{1} << 60);
  stream.per_cell(level_);
  stream.per_cell(spread_);
  stream.per_cell(seen_);
  stream.per_cell(run_);
}

}  // namespace outlierd::detect
