#include "core/detect/channels.h"

#include <algorithm>
#include <limits>

namespace outlierd::detect {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr double kMostShare = 100.0;
constexpr float kLeastSurprise = 0.3f;  // spread of a row's surprise
constexpr float kLeastVolume = 1e-12f;  // spread of a row's volume
constexpr std::int64_t kFirstBins = 5;
constexpr double kMostGrowth = 2.0;  // of the traffic in one bin, that counts
// What each channel counts. A score means the same in all of them, but in some more of what is
// rare is nobody's concern.
constexpr float kRises = 1.12f;  // of many cells together
constexpr float kVolumes = 0.9f, kFallenVolumes = 0.75f;
constexpr float kShares = 0.9f;
constexpr float kLonger = 0.75f;  // the cell's own deviation, at the horizons beyond one bin
constexpr float kRows = 0.9f;     // what befalls many cells befalls a column more often than a row
constexpr float kShifts = 1.5f;
constexpr float kUsual = 0.5f, kMostSurprise = 3.0f;  // of a cell's tail score, in its row's sum
constexpr float kMovesWith = 1.0f;    // spreads: a cell that moves so far goes with its row in full
constexpr float kPartOfMost = 0.15f;  // of the largest excess in its row: a smaller one stays out

float sign_of(float x) { return std::copysign(1.0f, x); }
float larger(float a, float b) { return std::abs(a) >= std::abs(b) ? a : b; }

}  // namespace

Side::Side(std::size_t series, float horizon_bins, double bins_a_day)
    : rises(series, horizon_bins, bins_a_day, kLeastSurprise),
      falls(series, horizon_bins, bins_a_day, kLeastSurprise),
      volumes(series, horizon_bins, bins_a_day, kLeastVolume),
      recent(series, 0.0f),
      observed(series, 0.0),
      expected(series, 0.0) {
  for (auto* column : {&count, &excess, &rise, &fall, &recent_now, &tail, &most})
    column->assign(series, 0.0f);
}

void Side::clear() {
  for (auto* column : {&count, &excess, &rise, &fall, &most})
    std::fill(column->begin(), column->end(), 0.0f);
  for (auto* column : {&observed, &expected}) std::fill(column->begin(), column->end(), 0.0);
}

void Side::learn(bool tails) {
  for (NodeSums* sums : {&rises, &falls, &volumes}) sums->learn(tails);
  recent = recent_now;
}

void Side::exchange(StateStream& stream) {
  for (NodeSums* sums : {&rises, &falls, &volumes}) sums->exchange(stream);
  stream.per_node(recent);
}

Channels::Channels(const Network& network, double minimum_share, PartsLeftOut without)
    : nodes_(network.nodes.size()),
      metrics_(network.metrics.size()),
      bin_seconds_(network.bin_seconds),
      minimum_share_(float(minimum_share)),
      without_(without),
      places_(network),
      share_tails_(kHorizons - 1, Tails(places_.row.size())),
      total_(metrics_, 0.0),
      tail_(places_.row.size(), kUnknown),
      own_tail_(tail_) {
  for (auto* sides : {&rows_, &columns_})
    for (float bins : kHorizonBins)
      sides->emplace_back(places_.series, bins, 86400.0 / network.bin_seconds);
  for (auto* columns : {&excess_, &excess_now_, &cell_tail_})
    columns->fill(std::vector<float>(tail_.size(), 0.0f));
}

void Channels::score(const Input& input, model::ThreadTeam& team) {
  for_cells(team, tail_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) {
      measure_cell(input, cell);
      score_cell(input, cell);
    }
  });
  team.run(int(kHorizons), [&](int horizon) {
    const auto k = std::size_t(horizon);
    measure_sides(input, k);
    score_side(input, k, rows_[k], kRows);
    score_side(input, k, columns_[k], 1.0f);
    find_most(k);
  });
  for_cells(team, tail_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell)
      for (std::size_t k = 0; k < kHorizons; ++k) spread_to_cell(input, k, cell);
  });
  if (without_.has(Part::kShifts)) return;
  for (std::size_t k = 0; k < kHorizons; ++k) score_shifts(input, k);
}

// What each horizon says of a cell by itself, and (section 6 a) what it has too much, as a share of
// the network's traffic.
void Channels::measure_cell(const Input& input, std::size_t cell) {
  const double total = total_[cell % metrics_];
  for (std::size_t k = 0; k < kHorizons; ++k) {
    excess_now_[k][cell] = excess_[k][cell];
    if (!input.observed[cell]) continue;
    float sum = 0.0f;
    for (const View* view : input.views) sum += view->cell_tail(k, cell);
    cell_tail_[k][cell] = sum / float(input.views.size());
    if (!(total > 0.0)) continue;
    const double share = (input.volumes[cell] - double(input.centre[k][cell])) / total;
    excess_now_[k][cell] +=
        (float(std::clamp(share, -kMostShare, kMostShare)) - excess_[k][cell]) / kHorizonBins[k];
  }
}

// Rows and columns: their excess, their volumes, and how surprising their cells are (as in Fisher's
// method: the tail scores of the cells that move the same way, added up).
void Channels::measure_sides(const Input& input, std::size_t k) {
  Side &rows = rows_[k], &columns = columns_[k];
  rows.clear();
  columns.clear();
  for (std::size_t cell = 0; cell < tail_.size(); ++cell) {
    if (!input.observed[cell]) continue;
    const double volume = input.volumes[cell], centre = double(input.centre[k][cell]);
    const float tail = cell_tail_[k][cell], share = excess_now_[k][cell];
    const float surprise =
        std::copysign(std::clamp(std::abs(tail) - kUsual, 0.0f, kMostSurprise), tail);
    rows.add(places_.row[cell], share, surprise, volume, centre);
    columns.add(places_.column[cell], share, surprise, volume, centre);
  }
}

// Section 6 a: an excess below the minimum share counts less; one against the direction nothing.
float Channels::gate(float excess) const {
  if (excess >= minimum_share_) return 1.0f;
  return excess > 0.0f ? std::sqrt(excess / minimum_share_) : 0.0f;
}

void Channels::raise(std::size_t cell, float tail) { tail_[cell] = larger(tail_[cell], tail); }

void Channels::score_cell(const Input& input, std::size_t cell) {
  tail_[cell] = own_tail_[cell] = kUnknown;
  if (!input.observed[cell]) return;
  const float tail = cell_tail_[0][cell];
  tail_[cell] =
      (tail > 0.0f ? kUpwardCells : 1.0f) * tail * gate(sign_of(tail) * excess_now_[0][cell]);
  // Beyond one bin the share itself says more: for a rise that comes slowly, what the pair has ever
  // carried, and not how it moves from bin to bin.
  for (std::size_t k = 1; k < kHorizons; ++k) {
    const float share = excess_now_[k][cell], longer = cell_tail_[k][cell];
    if (!without_.has(Part::kLonger)) raise(cell, kLonger * longer * gate(sign_of(longer) * share));
    if (share > 0.0f && !without_.has(Part::kShares))
      raise(cell, kShares * share_tails_[k - 1].score(cell, share / kThousandth) * gate(share));
  }
  own_tail_[cell] = tail_[cell];
}

// The tail score of each row (or column): of its cells together, or of its volume.
void Channels::score_side(const Input& input, std::size_t k, Side& side, float weight) {
  NodeSums &rises = side.rises, &falls = side.falls, &volumes = side.volumes;
  for (NodeSums* sums : {&rises, &falls, &volumes}) sums->clear();
  for (std::size_t i = 0; i < places_.series; ++i) {
    side.recent_now[i] = side.recent[i];
    if (side.count[i] == 0.0f) continue;
    rises.set(i, side.rise[i], side.count[i]);
    falls.set(i, side.fall[i], side.count[i]);
    const float gap =
        input.scale.value_of(side.observed[i]) - input.scale.value_of(side.expected[i]);
    side.recent_now[i] += (gap - side.recent[i]) / kHorizonBins[k];
    const float recent = side.recent_now[i];
    volumes.set(i, k == 0 ? recent : still_there(recent, gap) * recent, side.count[i]);
  }
  for (NodeSums* sums : {&rises, &falls, &volumes}) sums->finish();
  for (std::size_t i = 0; i < places_.series; ++i) {
    const float together = without_.has(Part::kTogether) ? 0.0f : 1.0f;
    const float volume = without_.has(Part::kVolumes) ? 0.0f : volumes.tail(i);
    const float up = std::max(kRises * together * rises.tail(i), kVolumes * volume);
    const float down = std::max(together * falls.tail(i), -kFallenVolumes * volume);
    side.tail[i] = weight * larger(std::max(0.0f, up) * gate(side.excess[i]),
                                   -std::max(0.0f, down) * gate(-side.excess[i]));
  }
}

// The largest excess, in the direction of its row's (or column's) score, of a cell in it.
void Channels::find_most(std::size_t k) {
  Side &rows = rows_[k], &columns = columns_[k];
  for (std::size_t cell = 0; cell < tail_.size(); ++cell) {
    const std::uint32_t row = places_.row[cell], column = places_.column[cell];
    const float excess = excess_now_[k][cell];
    rows.most[row] = std::max(rows.most[row], excess * sign_of(rows.tail[row]));
    columns.most[column] = std::max(columns.most[column], excess * sign_of(columns.tail[column]));
  }
}

// A row's or column's score goes to the cells that move with it and make up its excess.
void Channels::spread_to_cell(const Input& input, std::size_t k, std::size_t cell) {
  if (!input.observed[cell]) return;
  float moved = 0.0f;
  for (const View* view : input.views) moved += view->horizons.deviation(k)[cell];
  moved /= float(input.views.size());
  const auto share_in = [&](const Side& side, std::uint32_t i) {
    const float whole = side.tail[i], with = moved * sign_of(whole);
    const float excess = excess_now_[k][cell] * sign_of(whole);
    if (with > 0.0f && excess > 0.0f && excess >= kPartOfMost * side.most[i])
      raise(cell, whole * std::min(1.0f, with / kMovesWith));
  };
  share_in(rows_[k], places_.row[cell]);
  share_in(columns_[k], places_.column[cell]);
}

// Traffic to one destination that left one origin and came up at another, in all views.
void Channels::score_shifts(const Input& input, std::size_t k) {
  for (std::size_t i = 0; i < places_.series; ++i) {
    const Shift& first = input.views.front()->shifts(k)[i];
    if (first.rising < 0 || first.falling < 0) continue;
    float sum = 0.0f;
    bool agreed = true;
    for (const View* view : input.views) {
      const Shift& shift = view->shifts(k)[i];
      agreed = agreed && shift.rising == first.rising && shift.falling == first.falling;
      sum += shift.tail;
    }
    if (!agreed) continue;
    const auto cell_of = [&](std::int32_t origin) {
      return (std::size_t(origin) * nodes_ + i / metrics_) * metrics_ + i % metrics_;
    };
    const std::size_t up = cell_of(first.rising), down = cell_of(first.falling);
    if (!input.observed[up] || !input.observed[down]) continue;
    const float smaller = std::min(excess_now_[k][up], -excess_now_[k][down]);
    const float tail = kShifts * sum / float(input.views.size()) * gate(smaller);
    raise(up, tail);
    raise(down, -tail);
  }
}

void Channels::learn(const Input& input, std::span<const std::uint8_t> measured,
                     std::span<const float> expected, bool ready, model::ThreadTeam& team) {
  if (ready)
    team.run(int(share_tails_.size()), [&](int part) {
      Tails& tails = share_tails_[std::size_t(part)];
      const std::vector<float>& excess = excess_now_[std::size_t(part) + 1];
      for (std::size_t cell = 0; cell < excess.size(); ++cell)
        if (input.observed[cell]) tails.learn(cell, excess[cell] / kThousandth);
      tails.end_bin();
    });
  for (auto* sides : {&rows_, &columns_})
    for (Side& side : *sides) side.learn(ready);
  excess_ = excess_now_;
  learn_total(input, measured, expected);
}

// The network's traffic, slowly.
void Channels::learn_total(const Input& input, std::span<const std::uint8_t> measured,
                           std::span<const float> expected) {
  std::vector<double> now(metrics_, 0.0);
  bool any = false;
  for (std::size_t cell = 0; cell < measured.size(); ++cell) {
    if (measured[cell]) {
      now[cell % metrics_] += input.volumes[cell];
      any = true;
    } else if (!std::isnan(expected[cell])) {
      now[cell % metrics_] += double(expected[cell]);
    }
  }
  if (!any) return;
  const double weight =
      std::max(std::min(0.5, 4.0 * bin_seconds_ / 86400.0), 1.0 / double(bins_ + 1));
  for (std::size_t m = 0; m < metrics_; ++m) {
    if (bins_ < kFirstBins || total_[m] == 0.0) {
      total_[m] += (total_[m] == 0.0 ? 1.0 : weight) * (now[m] - total_[m]);
    } else {
      total_[m] += weight * (std::min(now[m], kMostGrowth * total_[m]) - total_[m]);
    }
  }
  ++bins_;
}

void Channels::exchange(StateStream& stream) {
  stream.number(bins_, std::int64_t{0}, std::int64_t{1} << 60);
  for (auto* sides : {&rows_, &columns_})
    for (Side& side : *sides) side.exchange(stream);
  for (Tails& tails : share_tails_) tails.exchange_cells(stream);
  stream.per_metric(total_);
  for (auto& excess : excess_) stream.per_cell(excess);
}

}  // namespace outlierd::detect
