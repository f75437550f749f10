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
constexpr float kFirstSpread = 1.0f;
constexpr int kFirstBins = 5;
constexpr float kSlower = 8.0f;  // a base than its horizon

Lanes to_the_eighth(Lanes x) {
  const Lanes square = x * x, fourth = square * square;
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

// Levels weigh by how well they have predicted.
template <class At>
Lanes CellHorizons::next_at(At at) const {
  const Lanes unit = highest(load(spread_.data(), at), splat(kLeastSpread));
  Lanes sum = {}, weights = {};
  for (std::size_t j = 0; j < kLevels; ++j) {
    const Lanes weight = to_the_eighth(unit / highest(load(miss_[j].data(), at), 0.1f * unit));
    sum += weight * load(level_[j].data(), at);
    weights += weight;
  }
  return sum / weights;
}

float CellHorizons::next(std::size_t cell) const { return next_at(FewCells{cell, 1})[0]; }

template <class At>
void CellHorizons::score_at(At at, const float* values, const std::uint8_t* observed) {
  const LaneMask scored = (load_bytes(observed, at) != 0) & (load_bytes(seen_.data(), at) != 0);
  const Lanes predicted = next_at(at), value = load(values, at), none = {};
  store(predicted_.data(), at, predicted);
  store(deviation_[0].data(), at, choose(scored, (value - predicted) / spread_at(at), none));
  const Lanes reach = kRecentClip * highest(load(spread_.data(), at), splat(kLeastSpread));
  for (std::size_t k = 0; k + 1 < kHorizons; ++k) {
    const Lanes base = load(base_[k].data(), at), recent = load(recent_[k].data(), at);
    const Lanes entering = clamped(value, base - reach, base + reach);
    const Lanes now = recent + (entering - recent) / kHorizonBins[k + 1];
    const Lanes gap = now - base;
    const Lanes width = highest(load(width_[k].data(), at), splat(kLeastSpread));
    const Lanes deviation = still_there(gap, value - base) * gap / width;
    store(recent_now_[k].data(), at, now);
    store(deviation_[k + 1].data(), at, choose(scored, deviation, none));
  }
}

void CellHorizons::score(std::span<const float> values, std::span<const std::uint8_t> observed,
                         std::size_t begin, std::size_t end) {
  for_lanes(begin, end, [&](auto at) { score_at(at, values.data(), observed.data()); });
}

template <class At>
void CellHorizons::learn_at(At at, const float* values, const std::uint8_t* lessons) {
  const LaneMask lesson = load_bytes(lessons, at), seen = load_bytes(seen_.data(), at);
  const LaneMask learned = lesson == int(kLearn), held = lesson == int(kHold);
  if (!any(learned | held)) return;
  const LaneMask first = learned & (seen == 0), later = learned & (seen != 0);
  const bool usual = all(later);
  const Lanes value = load(values, at);
  // What a column becomes: `now` of a cell seen before, `start` of one that was not.
  const auto put = [&](Column& column, Lanes before, Lanes now, Lanes start) {
    store(column.data(), at, usual ? now : choose(later, now, choose(first, start, before)));
  };
  const Lanes start = 1.0f / to_float(seen + 1);
  const Lanes slow = highest(splat(spread_weight_), start);
  const Lanes spread = load(spread_.data(), at), fast = load(fast_.data(), at);
  const Lanes unit = highest(spread, splat(kLeastSpread));
  const Lanes size = magnitude(value - load(predicted_.data(), at));
  const Lanes limit = choose(seen < kFirstBins, splat(1e30f), kClip * unit);
  put(fast_, fast, fast + kFastWeight * (kSigmaOfMean * lowest(size, kFastClip * unit) - fast),
      fast);
  put(spread_, spread, spread + slow * (kSigmaOfMean * lowest(size, limit) - spread), spread);
  for (std::size_t j = 0; j < kLevels; ++j) {
    const Lanes level = load(level_[j].data(), at), miss = load(miss_[j].data(), at);
    const Lanes error = value - level;
    put(miss_[j], miss,
        miss + highest(splat(kMissWeight), start) * (lowest(magnitude(error), limit) - miss), miss);
    put(level_[j], level,
        level + highest(splat(kLevelWeights[j]), start) * clamped(error, -limit, limit), value);
  }
  for (std::size_t k = 0; k + 1 < kHorizons; ++k) {
    const Lanes base = load(base_[k].data(), at), now = load(recent_now_[k].data(), at);
    const Lanes recent = load(recent_[k].data(), at), width = load(width_[k].data(), at);
    const Lanes gap = magnitude(now - base);
    const Lanes most = kClip * highest(width, splat(kLeastSpread));
    const Lanes weight = highest(splat(1.0f / (kSlower * kHorizonBins[k + 1])), start);
    put(width_[k], width, width + slow * (kSigmaOfMean * lowest(gap, most) - width), width);
    put(base_[k], base, base + weight * clamped(value - base, -limit, limit), value);
    put(recent_[k], choose(held, now, recent), now, value);
  }
  const LaneMask more = learned & (seen < 255);
  if (any(more)) store_bytes(seen_.data(), at, seen - more);
}

void CellHorizons::learn(std::span<const float> values, std::span<const std::uint8_t> lessons,
                         std::size_t begin, std::size_t end) {
  for_lanes(begin, end, [&](auto at) { learn_at(at, values.data(), lessons.data()); });
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
