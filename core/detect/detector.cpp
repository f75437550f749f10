#include "core/detect/detector.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace outlierd::detect {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr int kReadyBins = 20;
constexpr double kFullSeconds = 2 * 86400.0;
constexpr float kUpwardCells = 0.9f;  // section 6 d
constexpr float kMovesWith = 1.0f;    // spreads: a cell that moves so far goes with its row in full

}  // namespace

Detector::Detector(const Network& network, DetectorOptions options)
    : network_(network),
      options_(options),
      places_(network),
      profile_(places_.row.size()),
      level_(places_.row.size(), 86400.0 / network.bin_seconds),
      seasonal_(places_.row.size(), 86400.0 / network.bin_seconds),
      low_rank_(network.shape(), options.model, network.bin_seconds),
      plain_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      daily_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      total_(network.metrics.size(), 0.0),
      standard_(network.shape()) {
  const std::size_t cells = places_.row.size();
  for (std::size_t k = 0; k < kHorizons; ++k) {
    excess_[k].assign(cells, 0.0f);
    excess_now_[k].assign(cells, 0.0f);
    row_excess_[k].assign(places_.series, 0.0f);
    column_excess_[k].assign(places_.series, 0.0f);
  }
  run_.assign(cells, 0);
  for (auto* column : {&value_, &plain_value_, &daily_value_, &low_rank_part_})
    column->assign(cells, 0.0f);
  for (auto* column : {&scores_.tail, &scores_.own_tail, &scores_.expected})
    column->assign(cells, kUnknown);
}

void Detector::skip(std::int64_t) {}  // the daily profile knows the time; nothing else runs by it

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
  plain_.score(plain_value_, slice_.observed, places_);
  daily_.score(daily_value_, slice_.observed, places_);
  expect();
  measure_excess();
  score_cells();
  for (std::size_t k = 0; k < kHorizons; ++k) {
    score_sums(k, true);
    score_sums(k, false);
    score_shifts(k);
  }
  return scores_;
}

void Detector::standardize() {
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    standard_.observed[cell] = slice_.observed[cell] && level_.known(cell);
    if (!slice_.observed[cell]) continue;
    value_[cell] = scale_.value_of(slice_.values[cell]);
    const float standard = level_.known(cell) ? level_.standard(cell, value_[cell]) : 0.0f;
    standard_.values[cell] = double(standard);
    const float rest = value_[cell] - profile_.value(cell);
    daily_value_[cell] = seasonal_.known(cell) ? seasonal_.standard(cell, rest) : 0.0f;
  }
  low_rank_part_ = low_rank_.expected(standard_);
  for (std::size_t cell = 0; cell < value_.size(); ++cell)
    plain_value_[cell] = float(standard_.values[cell]) - low_rank_part_[cell];
}

float Detector::centre_value(std::size_t horizon, std::size_t cell) const {
  const float plain =
      level_.level(cell) +
      level_.spread(cell) * (low_rank_part_[cell] + plain_.horizons.centre(horizon, cell));
  const float daily = profile_.value(cell) + seasonal_.level(cell) +
                      seasonal_.spread(cell) * daily_.horizons.centre(horizon, cell);
  return std::max(0.0f, 0.5f * (plain + daily));
}

void Detector::expect() {
  for (std::size_t cell = 0; cell < value_.size(); ++cell)
    scores_.expected[cell] =
        level_.known(cell) ? scale_.volume_of(centre_value(0, cell)) : kUnknown;
}

void Detector::measure_excess() {
  const std::size_t metrics = network_.metrics.size();
  for (std::size_t k = 0; k < kHorizons; ++k) {
    std::fill(row_excess_[k].begin(), row_excess_[k].end(), 0.0f);
    std::fill(column_excess_[k].begin(), column_excess_[k].end(), 0.0f);
    for (std::size_t cell = 0; cell < value_.size(); ++cell) {
      excess_now_[k][cell] = excess_[k][cell];
      if (!slice_.observed[cell] || !level_.known(cell)) continue;
      const double total = total_[cell % metrics];
      const float centre =
          k == 0 ? scores_.expected[cell] : scale_.volume_of(centre_value(k, cell));
      const float share =
          total > 0.0 ? float((slice_.values[cell] - double(centre)) / total) : 0.0f;
      excess_now_[k][cell] += (share - excess_[k][cell]) / kHorizonBins[k];
      row_excess_[k][places_.row[cell]] += excess_now_[k][cell];
      column_excess_[k][places_.column[cell]] += excess_now_[k][cell];
    }
  }
}

// Section 6 a: an excess below the minimum share counts less; one against the direction nothing.
float Detector::gate(float excess) const {
  const auto least = float(options_.minimum_share);
  if (excess <= 0.0f && least > 0.0f) return 0.0f;
  return excess >= least ? 1.0f : std::sqrt(excess / least);
}

void Detector::raise(std::size_t cell, float tail) {
  if (std::abs(tail) > std::abs(scores_.tail[cell])) scores_.tail[cell] = tail;
}

void Detector::score_cells() {
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    scores_.tail[cell] = scores_.own_tail[cell] = kUnknown;
    if (!slice_.observed[cell] || !level_.known(cell)) continue;
    scores_.tail[cell] = 0.0f;
    for (std::size_t k = 0; k < kHorizons; ++k) {
      const float tail = 0.5f * (plain_.cell_tail(k, cell) + daily_.cell_tail(k, cell));
      const float weight = k == 0 && tail > 0.0f ? kUpwardCells : 1.0f;
      raise(cell, weight * tail * gate(std::copysign(1.0f, tail) * excess_now_[k][cell]));
    }
    scores_.own_tail[cell] = scores_.tail[cell];
  }
}

void Detector::score_sums(std::size_t k, bool rows) {
  const NodeSums& plain = rows ? plain_.rows(k) : plain_.columns(k);
  const NodeSums& daily = rows ? daily_.rows(k) : daily_.columns(k);
  const std::vector<float>& excess = rows ? row_excess_[k] : column_excess_[k];
  const std::vector<std::uint32_t>& place = rows ? places_.row : places_.column;
  std::vector<float> tail(excess.size());
  for (std::size_t i = 0; i < tail.size(); ++i) {
    tail[i] = 0.5f * (plain.tail(i) + daily.tail(i));
    tail[i] *= gate(std::copysign(1.0f, tail[i]) * excess[i]);
  }
  const std::span<const float> moved = plain_.horizons.deviation(k);
  const std::span<const float> moved_daily = daily_.horizons.deviation(k);
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    const float whole = tail[place[cell]];
    if (std::isnan(scores_.tail[cell]) || std::abs(whole) <= std::abs(scores_.tail[cell])) continue;
    const float with = 0.5f * (moved[cell] + moved_daily[cell]) * std::copysign(1.0f, whole);
    if (with > 0.0f) raise(cell, whole * std::min(1.0f, with / kMovesWith));
  }
}

void Detector::score_shifts(std::size_t k) {
  const std::size_t metrics = network_.metrics.size(), nodes = network_.nodes.size();
  for (std::size_t i = 0; i < places_.series; ++i) {
    const Shift& plain = plain_.shifts(k)[i];
    const Shift& daily = daily_.shifts(k)[i];
    if (plain.rising < 0 || plain.falling < 0 || plain.rising != daily.rising ||
        plain.falling != daily.falling)
      continue;
    const auto cell_of = [&](std::int32_t origin) {
      return (std::size_t(origin) * nodes + i / metrics) * metrics + i % metrics;
    };
    const std::size_t up = cell_of(plain.rising), down = cell_of(plain.falling);
    const float smaller = std::min(excess_now_[k][up], -excess_now_[k][down]);
    const float tail = 0.5f * (plain.tail + daily.tail) * gate(smaller);
    if (!std::isnan(scores_.tail[up])) raise(up, tail);
    if (!std::isnan(scores_.tail[down])) raise(down, -tail);
  }
}

void Detector::band(std::size_t cell, float tail, float& low, float& high) const {
  const float plain = level_.level(cell) + level_.spread(cell) * (low_rank_part_[cell] +
                                                                  plain_.horizons.centre(0, cell));
  const float daily = profile_.value(cell) + seasonal_.level(cell) +
                      seasonal_.spread(cell) * daily_.horizons.centre(0, cell);
  const auto reach = [&](float at, bool up) {
    return 0.5f * (plain_.tails(0).deviation_at(cell, at, up) * plain_.horizons.spread(cell) *
                       level_.spread(cell) +
                   daily_.tails(0).deviation_at(cell, at, up) * daily_.horizons.spread(cell) *
                       seasonal_.spread(cell));
  };
  const float middle = 0.5f * (plain + daily);
  low = scale_.volume_of(std::max(0.0f, middle - reach(tail, false)));
  high = scale_.volume_of(std::min(1e9f, middle + reach(tail / kUpwardCells, true)));
}

}  // namespace outlierd::detect
