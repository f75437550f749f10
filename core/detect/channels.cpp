#include "core/detect/channels.h"

#include <algorithm>
#include <limits>

namespace outlierd::detect {
namespace {

constexpr float kNoTail = std::numeric_limits<float>::quiet_NaN();
constexpr float kMostShare = 100.0f;
constexpr float kLeastSurprise = 0.3f;  // spread of a row's surprise
constexpr float kLeastVolume = 1e-12f;  // spread of a row's volume
constexpr std::int64_t kFirstTotals = 5;
constexpr double kMostGrowth = 2.0;  // of the traffic in one bin, that counts
// What each channel counts. A score means the same in all of them, but in some more of what is
// rare is nobody's concern.
constexpr float kVolumes = 0.9f, kFallenVolumes = 0.75f;
// At each horizon: of the pair's shares; of many cells together; of shifts.
constexpr std::array<float, kHorizons> kShares = {0.0f, 0.9f, 0.75f};
constexpr std::array<float, kHorizons> kRises = {1.12f, 1.23f, 1.23f};
constexpr std::array<float, kHorizons> kShifts = {1.5f, 1.8f, 1.8f};
constexpr float kLonger = 0.75f;  // the cell's own deviation, at the horizons beyond one bin
constexpr float kRows = 0.95f;    // what befalls many cells befalls a column more often than a row
constexpr float kMovesWith = 1.0f;   // spreads: a cell that moves so far goes with its row in full
constexpr float kPartOfMost = 0.5f;  // of the largest excess in its row: a smaller one goes less,
constexpr float kLeastPart = 0.6f;   // to this part of the score

float larger(float a, float b) { return std::abs(a) >= std::abs(b) ? a : b; }
Lanes sign_of(Lanes x) { return with_sign(splat(1.0f), x); }
Lanes larger(Lanes a, Lanes b) { return choose(magnitude(a) >= magnitude(b), a, b); }

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
      total_(metrics_, 0.0),
      restlessness_(network.bin_seconds),
      tail_(places_.row.size(), kNoTail),
      own_tail_(tail_),
      beyond_(std::size_t(parts_of(tail_.size()))) {
  for (auto* sides : {&rows_, &columns_})
    for (float bins : kHorizonBins)
      sides->emplace_back(places_.series, bins, 86400.0 / network.bin_seconds);
  for (std::size_t k = 1; k < kHorizons; ++k)
    share_tails_.emplace_back(tail_.size(), kHorizonBins[k]);
  for (auto* columns : {&excess_, &excess_now_, &cell_tail_})
    columns->fill(std::vector<float>(tail_.size(), 0.0f));
}

void Channels::score(const Input& input, model::ThreadTeam& team) {
  for_cells(team, tail_.size(), [&](std::size_t begin, std::size_t end) {
    for_blocks(begin, end, [&](std::size_t from, std::size_t to) {
      for (std::size_t k = 0; k < kHorizons; ++k) measure_cells(input, k, from, to);
      for_lanes(from, to, [&](auto at) { score_at(input, at); });
    });
  });
  for_sides(
      team,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) measure_row(input, row);
      },
      [&](std::size_t begin, std::size_t end) { measure_columns(input, begin, end); });
  team.run(int(2 * kHorizons), [&](int task) {
    const auto k = std::size_t(task) / 2;
    score_side(input, k, (task % 2 == 0 ? rows_ : columns_)[k], task % 2 == 0 ? kRows : 1.0f);
  });
  for_sides(
      team,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row)
          for (std::size_t k = 0; k < kHorizons; ++k) find_most_of_row(k, row);
      },
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = 0; k < kHorizons; ++k) find_most_of_columns(k, begin, end);
      });
  for_parts(team, tail_.size(), nodes_, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t origin = begin; origin < end; ++origin)
      for (std::size_t k = 0; k < kHorizons; ++k)
        for_lanes(0, places_.series, [&](auto at) { spread_to(input, k, origin, at); });
  });
  for (std::size_t k = 0; k < kHorizons && !without_.has(Part::kShifts); ++k)
    score_shifts(input, k);
  weigh_by_range(input, team);
  calm_down(input, team);
}

// What goes back to where it often is counts less.
void Channels::weigh_by_range(const Input& input, model::ThreadTeam& team) {
  if (input.range == nullptr || without_.has(Part::kRange)) return;
  for_cells(team, tail_.size(), [&](std::size_t begin, std::size_t end) {
    for_lanes(begin, end, [&](auto at) {
      const Lanes value = load(input.values.data(), at);
      for (auto* tails : {&tail_, &own_tail_}) {
        const Lanes tail = load(tails->data(), at);
        store(tails->data(), at, tail * input.range->weight_at(at, value, tail));
      }
    });
  });
}

// What is restless at this time of every day counts less.
void Channels::calm_down(const Input& input, model::ThreadTeam& team) {
  restless_ = restlessness_.of(tail_);
  calm_ = without_.has(Part::kCalm) ? 1.0f : restlessness_.calm(input.second_of_day);
  if (calm_ == 1.0f) return;
  for_cells(team, tail_.size(), [&](std::size_t begin, std::size_t end) {
    for (auto* tails : {&tail_, &own_tail_})
      for (std::size_t cell = begin; cell < end; ++cell) (*tails)[cell] *= calm_;
  });
}

template <class Rows, class Columns>
void Channels::for_sides(model::ThreadTeam& team, const Rows& of_rows,
                         const Columns& of_columns) const {
  constexpr std::size_t kLeastStrip = 256;  // columns: narrow ones stream badly
  const auto parts = std::size_t(parts_of(tail_.size()));
  const std::size_t series = places_.series, strips = std::min(parts, 1 + series / kLeastStrip);
  team.run(int(strips + parts), [&](int task) {
    const auto part = std::size_t(task);
    if (part < strips) {
      of_columns(series * part / strips, series * (part + 1) / strips);
    } else {
      of_rows(series * (part - strips) / parts, series * (part - strips + 1) / parts);
    }
  });
}

// What each horizon says of a cell by itself, and (section 6 a) what it has too much, as a share of
// the network's traffic.
void Channels::measure_cells(const Input& input, std::size_t k, std::size_t begin,
                             std::size_t end) {
  float* const tails = cell_tail_[k].data();
  std::fill(tails + begin, tails + end, 0.0f);
  for (const View* view : input.views)
    for_lanes(begin, end,
              [&](auto at) { store(tails, at, load(tails, at) + view->cell_tail_at(k, at)); });
  const auto views = float(input.views.size());
  for (std::size_t cell = begin; cell < end; ++cell) tails[cell] /= views;

  float shares[kCellBlock];
  for (std::size_t m = 0; m < metrics_; ++m) {
    const double total = total_[m] > 0.0 ? total_[m] : 1.0;
    const std::size_t first = begin + (m + metrics_ - begin % metrics_) % metrics_;
    for (std::size_t cell = first; cell < end; cell += metrics_)
      shares[cell - begin] = float((input.volumes[cell] - double(input.centre[k][cell])) / total);
  }
  for_lanes(begin, end, [&](auto at) {
    const LaneMask observed = load_bytes(input.observed.data(), at) != 0;
    const Lanes before = load(excess_[k].data(), at);
    const Lanes share = clamped(load(shares - begin, at), splat(-kMostShare), splat(kMostShare));
    const Lanes now = before + (share - before) / kHorizonBins[k];
    store(excess_now_[k].data(), at, choose(observed & has_total_at(at), now, before));
  });
}

template <class At>
LaneMask Channels::has_total_at(At at) const {
  LaneMask known = {};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    known[lane] = total_[metrics_ == 1 ? 0 : (at.cell + lane) % metrics_] > 0.0 ? -1 : 0;
  return known;
}

// Section 6 a: an excess below the minimum share counts less; one against the direction nothing.
float Channels::gate(float excess) const {
  if (excess >= minimum_share_) return 1.0f;
  return excess > 0.0f ? std::sqrt(excess / minimum_share_) : 0.0f;
}

Lanes Channels::gate(Lanes excess) const {
  const Lanes none = {}, part = choose(excess > none, excess / minimum_share_, none);
  return choose(excess >= splat(minimum_share_), splat(1.0f), square_root(part));
}

void Channels::raise(std::size_t cell, float tail) { tail_[cell] = larger(tail_[cell], tail); }

template <class At>
void Channels::score_at(const Input& input, At at) {
  const LaneMask observed = load_bytes(input.observed.data(), at) != 0;
  const Lanes none = {}, cell = load(cell_tail_[0].data(), at);
  Lanes tail = choose(cell > none, splat(kUpwardCells), splat(1.0f)) * cell *
               gate(sign_of(cell) * load(excess_now_[0].data(), at));
  // Beyond one bin the share itself says more: for a rise that comes slowly, what the pair has ever
  // carried, and not how it moves from bin to bin.
  for (std::size_t k = 1; k < kHorizons; ++k) {
    const Lanes share = load(excess_now_[k].data(), at), longer = load(cell_tail_[k].data(), at);
    if (!without_.has(Part::kLonger))
      tail = larger(tail, kLonger * longer * gate(sign_of(longer) * share));
    if (without_.has(Part::kShares)) continue;
    const Lanes ever = share_tails_[k - 1].score_at(at, highest(share, none) / kThousandth);
    tail = choose(share > none, larger(tail, kShares[k] * ever * gate(share)), tail);
  }
  tail = choose(observed, tail, splat(kNoTail));
  store(tail_.data(), at, tail);
  store(own_tail_.data(), at, tail);
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
    const float up = std::max(kRises[k] * together * rises.tail(i), kVolumes * volume);
    const float down = std::max(together * falls.tail(i), -kFallenVolumes * volume);
    side.tail[i] = weight * larger(std::max(0.0f, up) * gate(side.excess[i]),
                                   -std::max(0.0f, down) * gate(-side.excess[i]));
  }
}

// A row's or column's score goes to the cells that move with it and make up its excess.
template <class At>
void Channels::spread_to(const Input& input, std::size_t k, std::size_t origin, At column) {
  At at = column;
  at.cell += origin * places_.series;
  const LaneMask observed = load_bytes(input.observed.data(), at) != 0;
  const Lanes none = {}, share = load(excess_now_[k].data(), at);
  Lanes moved = {}, tail = load(tail_.data(), at);
  for (const View* view : input.views) moved += load(view->horizons.deviation(k).data(), at);
  moved /= float(input.views.size());
  const auto share_in = [&](Lanes whole, Lanes most) {
    const Lanes with = moved * sign_of(whole), excess = share * sign_of(whole);
    const LaneMask goes = observed & (with > none) & (excess > none);
    const Lanes part = clamped(excess / (kPartOfMost * most), splat(kLeastPart), splat(1.0f));
    tail = choose(goes, larger(tail, whole * part * lowest(splat(1.0f), with / kMovesWith)), tail);
  };
  const auto of_row = [&](const std::vector<float>& rows) {
    if (metrics_ == 1) return splat(rows[origin]);
    Lanes value = {};
    for (std::size_t lane = 0; lane < column.count; ++lane)
      value[lane] = rows[origin * metrics_ + (column.cell + lane) % metrics_];
    return value;
  };
  share_in(of_row(rows_[k].tail), of_row(rows_[k].most));
  share_in(load(columns_[k].tail.data(), column), load(columns_[k].most.data(), column));
  store(tail_.data(), at, tail);
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
    const float tail = kShifts[k] * sum / float(input.views.size()) * gate(smaller);
    raise(up, tail);
    raise(down, -tail);
  }
}

void Channels::learn(const Input& input, std::span<const std::uint8_t> measured,
                     std::span<const float> expected, bool ready, model::ThreadTeam& team) {
  const auto learn_shares = [&](int part, std::size_t begin, std::size_t end) {
    float share[kCellBlock];
    for (std::size_t k = 0; k < share_tails_.size(); ++k)
      for_blocks(begin, end, [&](std::size_t from, std::size_t to) {
        for (std::size_t cell = from; cell < to; ++cell)
          share[cell - from] = excess_now_[k + 1][cell] / kThousandth;
        share_tails_[k].learn(from, to, share, input.observed.data() + from,
                              beyond_[std::size_t(part)][k]);
      });
  };
  for_parts_beside(
      team, tail_.size(), [&] { add_up(input, measured, expected); },
      [&](int part, std::size_t begin, std::size_t end) {
        if (ready) learn_shares(part, begin, end);
      });
  for (std::size_t k = 0; ready && k < share_tails_.size(); ++k) {
    for (auto& part : beyond_) {
      share_tails_[k].pool(part[k]);
      part[k].clear();
    }
    share_tails_[k].end_bin();
  }
  for (auto* sides : {&rows_, &columns_})
    for (Side& side : *sides) side.learn(ready);
  excess_.swap(excess_now_);
  if (ready) restlessness_.learn(input.second_of_day, restless_);
  if (any_measured_) learn_total();
}

// The network's traffic in this bin.
void Channels::add_up(const Input& input, std::span<const std::uint8_t> measured,
                      std::span<const float> expected) {
  total_now_.assign(metrics_, 0.0);
  any_measured_ = false;
  for (std::size_t pair = 0; pair < measured.size(); pair += metrics_)
    for (std::size_t m = 0; m < metrics_; ++m) {
      const std::size_t cell = pair + m;
      if (measured[cell]) {
        total_now_[m] += input.volumes[cell];
        any_measured_ = true;
      } else if (!std::isnan(expected[cell])) {
        total_now_[m] += double(expected[cell]);
      }
    }
}

// The same, slowly.
void Channels::learn_total() {
  const std::vector<double>& now = total_now_;
  const double weight =
      std::max(std::min(0.5, 4.0 * bin_seconds_ / 86400.0), 1.0 / double(bins_ + 1));
  for (std::size_t m = 0; m < metrics_; ++m) {
    if (bins_ < kFirstTotals || total_[m] == 0.0) {
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
  restlessness_.exchange(stream);
  for (auto& excess : excess_) stream.per_cell(excess);
}

}  // namespace outlierd::detect
