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
      range_(places_.row.size(), 86400.0 / network.bin_seconds),
      low_rank_(network.shape(), options.model, network.bin_seconds),
      plain_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      daily_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      channels_(network, options.minimum_share, options.without),
      standard_(network.shape()) {
  const std::size_t cells = places_.row.size();
  centre_.fill(std::vector<float>(cells, 0.0f));
  run_.assign(cells, 0);
  flagged_.assign(cells, 0);
  lessons_.assign(cells, kSkip);
  for (auto* column : {&value_, &plain_value_, &daily_value_}) column->assign(cells, 0.0f);
  expected_.assign(cells, kUnknown);
}

double Detector::warmup() const {
  return std::min(1.0, double(bins_) * network_.bin_seconds / kFullSeconds);
}
bool Detector::ready() const { return bins_ >= kReadyBins; }
ModelSummary Detector::model_summary() const { return low_rank_.summary(); }
double Detector::evidence_bound() { return low_rank_.evidence_bound(); }

CellScores Detector::score(const Slice& slice, int second_of_day) {
  slice_ = &slice;
  second_of_day_ = second_of_day;
  profile_.enter(second_of_day);
  for (std::uint32_t cell : profile_.activated()) seasonal_.shift(cell, -profile_.value(cell));
  const std::size_t cells = value_.size();
  for_cells(team_, cells, [&](std::size_t begin, std::size_t end) {
    for_lanes(begin, end, [&](auto at) { standardize_at(at); });
  });
  const bool low_rank = !options_.without.has(Part::kLowRank);
  if (low_rank) low_rank_.project(standard_);
  for_parts_beside(
      team_, cells,
      [&] {
        if (low_rank) low_rank_.learn_noise(standard_);
      },
      [&](int, std::size_t begin, std::size_t end) {
        for_blocks(begin, end, [&](std::size_t from, std::size_t to) { look(from, to); });
      });
  plain_.find_shifts(team_);
  daily_.find_shifts(team_);
  channels_.score(channels_input(), team_);
  return {channels_.tail(), channels_.own_tail(), expected_};
}

// Steps 1 and 2: values, standardised; or what the daily profile leaves of them.
template <class At>
void Detector::standardize_at(At at) {
  const LaneMask measured = load_bytes(slice_->observed.data(), at) != 0;
  const LaneMask known = measured & level_.known_at(at);
  const Lanes value = scale_.value_at(at, slice_->values.data());
  const Lanes standard = level_.standard_at(at, value);
  store(value_.data(), at, value);
  store(daily_value_.data(), at, seasonal_.standard_at(at, value - profile_.value_at(at)));
  for (std::size_t k = 0; k < at.count; ++k) {
    standard_.observed[at.cell + k] = std::uint8_t(known[k] & 1);
    standard_.values[at.cell + k] = known[k] ? double(standard[k]) : 0.0;
  }
}

// Steps 3 and 4 of some cells: the low-rank part taken out; each view's horizons; what is expected.
void Detector::look(std::size_t begin, std::size_t end) {
  if (!options_.without.has(Part::kLowRank)) low_rank_.expect(begin, end);
  const std::span<const float> low_rank = low_rank_.expected();
  for (std::size_t cell = begin; cell < end; ++cell)
    plain_value_[cell] = float(standard_.values[cell]) - low_rank[cell];
  plain_.horizons.score(plain_value_, standard_.observed, begin, end);
  daily_.horizons.score(daily_value_, standard_.observed, begin, end);
  for_lanes(begin, end, [&](auto at) { expect_at(at); });
}

// The value each horizon compares with: the mean of what the two views say.
template <class At>
Lanes Detector::centre_value_at(std::size_t horizon, At at) const {
  const Lanes low_rank = load(low_rank_.expected().data(), at);
  const Lanes none = {}, most = splat(kLargestValue);
  const Lanes plain = level_.level_at(at) +
                      level_.spread_at(at) * (low_rank + plain_.horizons.centre_at(horizon, at));
  if (options_.without.has(Part::kDaily)) return clamped(plain, none, most);
  const Lanes daily = profile_.value_at(at) + seasonal_.level_at(at) +
                      seasonal_.spread_at(at) * daily_.horizons.centre_at(horizon, at);
  return clamped(0.5f * (plain + daily), none, most);
}

template <class At>
void Detector::expect_at(At at) {
  const LaneMask known = level_.known_at(at);
  for (std::size_t k = 0; k < kHorizons; ++k) {
    const Lanes centre =
        choose(known, scale_.volume_of(centre_value_at(k, at)), load(centre_[k].data(), at));
    store(centre_[k].data(), at, centre);
    if (k == 0) store(expected_.data(), at, choose(known, centre, splat(kUnknown)));
  }
}

void Detector::bands(std::size_t begin, std::size_t end, float tail, float* low,
                     float* high) const {
  tail /= channels_.calm();
  const float rise = tail / Channels::kUpwardCells;
  for_lanes(begin, end, [&](auto at) {
    const Lanes plain = plain_.horizons.spread_at(at), plain_unit = level_.spread_at(at);
    const Lanes daily = daily_.horizons.spread_at(at), daily_unit = seasonal_.spread_at(at);
    const auto reach = [&](float to, bool up) {
      return 0.5f * (plain_.tails(0).deviations_at(at, to, up) * plain * plain_unit +
                     daily_.tails(0).deviations_at(at, to, up) * daily * daily_unit);
    };
    const Lanes middle = centre_value_at(0, at);
    // A fall into the usual range would have to be twice as far out: it stays under.
    const Lanes bottom = lowest(middle - reach(tail, false), range_.low_at(at));
    store(low, at, scale_.volume_of(highest(Lanes{}, bottom)));
    store(high, at, scale_.volume_of(lowest(splat(kLargestValue), middle + reach(rise, true))));
  });
}

}  // namespace outlierd::detect
