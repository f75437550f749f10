// From deviations to one score a cell (MODEL section 6 step 7).

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/detect/detector.h"

namespace outlierd::detect {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr double kMostShare = 100.0;
constexpr float kVolumes = 0.9f;      // what a row's or column's volume counts
constexpr float kMovesWith = 1.0f;    // spreads: a cell that moves so far goes with its row in full
constexpr float kPartOfMost = 0.15f;  // of the largest excess in its row: a smaller one stays out

float sign_of(float x) { return std::copysign(1.0f, x); }
float larger(float a, float b) { return std::abs(a) >= std::abs(b) ? a : b; }

}  // namespace

// Section 6 a: what each cell has too much, as a share of the network's traffic.
void Detector::measure_excess_of_cells() {
  const std::size_t metrics = network_.metrics.size();
  team_.run(int(kHorizons), [&](int horizon) {
    const auto k = std::size_t(horizon);
    for (std::size_t cell = 0; cell < value_.size(); ++cell) {
      excess_now_[k][cell] = excess_[k][cell];
      const double total = total_[cell % metrics];
      if (!standard_.observed[cell] || !(total > 0.0)) continue;
      const double share = (slice_.values[cell] - double(centre_[k][cell])) / total;
      excess_now_[k][cell] +=
          (float(std::clamp(share, -kMostShare, kMostShare)) - excess_[k][cell]) / kHorizonBins[k];
    }
  });
}

// The same of rows and columns, and their volumes.
void Detector::measure_excess_of_sides(std::size_t k) {
  rows_.clear();
  columns_.clear();
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    if (!standard_.observed[cell]) continue;
    const double volume = slice_.values[cell], centre = double(centre_[k][cell]);
    rows_.add(places_.row[cell], excess_now_[k][cell], volume, centre);
    columns_.add(places_.column[cell], excess_now_[k][cell], volume, centre);
  }
}

// Section 6 a: an excess below the minimum share counts less; one against the direction nothing.
float Detector::gate(float excess) const {
  const auto least = float(options_.minimum_share);
  if (excess >= least) return 1.0f;
  return excess > 0.0f ? std::sqrt(excess / least) : 0.0f;
}

void Detector::raise(std::size_t cell, float tail) {
  scores_.tail[cell] = larger(scores_.tail[cell], tail);
}

void Detector::score_cells() {
  const auto score_cell = [&](std::size_t cell) {
    scores_.tail[cell] = scores_.own_tail[cell] = kUnknown;
    if (!standard_.observed[cell]) return;
    scores_.tail[cell] = 0.0f;
    for (std::size_t k = 0; k < kHorizons; ++k) {
      const float tail = 0.5f * (plain_.cell_tail(k, cell) + daily_.cell_tail(k, cell));
      const float weight = k == 0 && tail > 0.0f ? kUpwardCells : 1.0f;
      raise(cell, weight * tail * gate(sign_of(tail) * excess_now_[k][cell]));
    }
    scores_.own_tail[cell] = scores_.tail[cell];
  };
  for_cells([&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) score_cell(cell);
  });
}

// The tail score of each row (or column): of its cells' deviations, or of its volume.
void Detector::score_side(std::size_t k, Side& side, const NodeSums& plain, const NodeSums& daily) {
  NodeSums& volumes = side.volumes[k];
  volumes.clear();
  for (std::size_t i = 0; i < places_.series; ++i) {
    side.recent_now[k][i] = side.recent[k][i];
    if (side.count[i] == 0.0f) continue;
    const float gap = scale_.value_of(side.observed[i]) - scale_.value_of(side.expected[i]);
    side.recent_now[k][i] += (gap - side.recent[k][i]) / kHorizonBins[k];
    const float recent = side.recent_now[k][i];
    volumes.set(i, k == 0 ? recent : still_there(recent, gap) * recent, side.count[i]);
  }
  volumes.finish();
  for (std::size_t i = 0; i < places_.series; ++i) {
    const float sum = 0.5f * (plain.tail(i) + daily.tail(i)), volume = volumes.tail(i);
    side.tail[i] = larger(sum * gate(sign_of(sum) * side.excess[i]),
                          kVolumes * volume * gate(sign_of(volume) * side.excess[i]));
  }
}

// A row's or column's score goes to the cells that move with it and make up its excess.
void Detector::spread_to_cells(std::size_t k) {
  const auto toward = [&](const Side& side, std::size_t cell, std::uint32_t i) {
    return excess_now_[k][cell] * sign_of(side.tail[i]);
  };
  for (Side* side : {&rows_, &columns_}) std::fill(side->most.begin(), side->most.end(), 0.0f);
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    const std::uint32_t row = places_.row[cell], column = places_.column[cell];
    rows_.most[row] = std::max(rows_.most[row], toward(rows_, cell, row));
    columns_.most[column] = std::max(columns_.most[column], toward(columns_, cell, column));
  }
  const std::span<const float> moved = plain_.horizons.deviation(k);
  const std::span<const float> moved_daily = daily_.horizons.deviation(k);
  const auto share_out = [&](std::size_t cell) {
    if (!standard_.observed[cell]) return;
    const float both = 0.5f * (moved[cell] + moved_daily[cell]);
    const auto share_in = [&](const Side& side, std::uint32_t i) {
      const float whole = side.tail[i], with = both * sign_of(whole);
      const float excess = toward(side, cell, i);
      if (with > 0.0f && excess > 0.0f && excess >= kPartOfMost * side.most[i])
        raise(cell, whole * std::min(1.0f, with / kMovesWith));
    };
    share_in(rows_, places_.row[cell]);
    share_in(columns_, places_.column[cell]);
  };
  for_cells([&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) share_out(cell);
  });
}

// Traffic to one destination that left one origin and came up at another, in both views.
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
    if (!standard_.observed[up] || !standard_.observed[down]) continue;
    const float smaller = std::min(excess_now_[k][up], -excess_now_[k][down]);
    const float tail = 0.5f * (plain.tail + daily.tail) * gate(smaller);
    raise(up, tail);
    raise(down, -tail);
  }
}

}  // namespace outlierd::detect
