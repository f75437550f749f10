#include "core/detect/detector.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace outlierd::detect {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr int kReadyBins = 20;
constexpr double kFullSeconds = 2 * 86400.0;
constexpr float kLargestValue = 1e9f;  // its fourth power is a float

}  // namespace

Detector::Detector(const Network& network, DetectorOptions options)
    : team_(options.model.threads),
      network_(network),
      options_(options),
      places_(network),
      profile_(places_.row.size()),
      level_(places_.row.size(), 86400.0 / network.bin_seconds),
      seasonal_(places_.row.size(), 86400.0 / network.bin_seconds),
      low_rank_(network.shape(), options.model, network.bin_seconds),
      plain_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      daily_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      channels_(network, options.minimum_share, options.without),
      standard_(network.shape()) {
  const std::size_t cells = places_.row.size();
  centre_.fill(std::vector<float>(cells, 0.0f));
  run_.assign(cells, 0);
  flagged_.assign(cells, 0);
  for (auto* column : {&value_, &plain_value_, &daily_value_}) column->assign(cells, 0.0f);
  for (auto* column : {&scores_.tail, &scores_.own_tail, &scores_.expected})
    column->assign(cells, kUnknown);
}

double Detector::warmup() const {
  return std::min(1.0, double(bins_) * network_.bin_seconds / kFullSeconds);
}
bool Detector::ready() const { return bins_ >= kReadyBins; }
ModelSummary Detector::model_summary() const { return low_rank_.summary(); }
double Detector::evidence_bound() { return low_rank_.evidence_bound(); }

const CellScores& Detector::score(const Slice& slice, int second_of_day) {
  slice_ = slice;
  profile_.enter(second_of_day);
  for (std::uint32_t cell : profile_.activated()) seasonal_.shift(cell, -profile_.value(cell));
  standardize();
  team_.run(2, [&](int part) {
    if (part == 0) plain_.score(plain_value_, standard_.observed, places_);
    if (part == 1) daily_.score(daily_value_, standard_.observed, places_);
  });
  expect();
  channels_.score(channels_input(), team_);
  scores_.tail = channels_.tail();
  scores_.own_tail = channels_.own_tail();
  return scores_;
}

// Steps 1 to 3: values, standardised; the low-rank part taken out, or the daily profile.
void Detector::standardize() {
  for_cells(team_, value_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) {
      standard_.observed[cell] = slice_.observed[cell] && level_.known(cell);
      standard_.values[cell] = 0.0;
      if (!slice_.observed[cell]) continue;
      value_[cell] = scale_.value_of(slice_.values[cell]);
      if (!standard_.observed[cell]) continue;
      standard_.values[cell] = double(level_.standard(cell, value_[cell]));
      daily_value_[cell] = seasonal_.standard(cell, value_[cell] - profile_.value(cell));
    }
  });
  if (options_.without.has(Part::kLowRank)) {
    for (std::size_t cell = 0; cell < value_.size(); ++cell)
      plain_value_[cell] = float(standard_.values[cell]);
    return;
  }
  const std::vector<float>& low_rank = low_rank_.expected(standard_);
  for (std::size_t cell = 0; cell < value_.size(); ++cell)
    plain_value_[cell] = float(standard_.values[cell]) - low_rank[cell];
}

// The value each horizon compares with: the mean of what the two views say.
float Detector::centre_value(std::size_t horizon, std::size_t cell) const {
  const float low_rank = low_rank_.last_expected()[cell];
  const float plain =
      level_.level(cell) + level_.spread(cell) * (low_rank + plain_.horizons.centre(horizon, cell));
  if (options_.without.has(Part::kDaily)) return std::clamp(plain, 0.0f, kLargestValue);
  const float daily = profile_.value(cell) + seasonal_.level(cell) +
                      seasonal_.spread(cell) * daily_.horizons.centre(horizon, cell);
  return std::clamp(0.5f * (plain + daily), 0.0f, kLargestValue);
}

void Detector::expect() {
  for_cells(team_, value_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) {
      scores_.expected[cell] = kUnknown;
      if (!level_.known(cell)) continue;
      for (std::size_t k = 0; k < kHorizons; ++k)
        centre_[k][cell] = scale_.volume_of(centre_value(k, cell));
      scores_.expected[cell] = centre_[0][cell];
    }
  });
}

void Detector::band(std::size_t cell, float tail, float& low, float& high) const {
  const auto reach = [&](float at, bool up) {
    return 0.5f * (plain_.tails(0).deviation_at(cell, at, up) * plain_.horizons.spread(cell) *
                       level_.spread(cell) +
                   daily_.tails(0).deviation_at(cell, at, up) * daily_.horizons.spread(cell) *
                       seasonal_.spread(cell));
  };
  const float middle = centre_value(0, cell);
  low = scale_.volume_of(std::max(0.0f, middle - reach(tail, false)));
  high = scale_.volume_of(
      std::min(kLargestValue, middle + reach(tail / Channels::kUpwardCells, true)));
}

}  // namespace outlierd::detect
