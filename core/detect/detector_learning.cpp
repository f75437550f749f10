// What the detector takes from a slice once it was scored.

#include <algorithm>
#include <cmath>

#include "core/detect/detector.h"

namespace outlierd::detect {
namespace {

constexpr std::int64_t kFirstBins = 5;
constexpr double kMostGrowth = 2.0;  // of the traffic in one bin, that counts
constexpr int kMostPatience = 200;
constexpr float kCleanClip = 3.0f;  // spreads: what the factors may learn of one bin

}  // namespace

void Detector::learn(std::span<const std::uint32_t> flagged) {
  settled_.clear();
  team_.run(
      2, [&](int part) { (part == 0 ? plain_ : daily_).learn_tails(standard_.observed, ready()); });
  for (Side* side : {&rows_, &columns_}) {
    for (NodeSums& volumes : side->volumes) volumes.learn(ready());
    side->recent = side->recent_now;
  }
  for (std::uint32_t cell : flagged) flagged_[cell] = 1;
  for_cells([&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell)
      if (slice_.observed[cell]) learn_cell(cell);
  });
  for (std::uint32_t cell : flagged) {
    flagged_[cell] = 0;
    if (run_[cell] == patience()) settled_.push_back(cell);
  }
  low_rank_.learn(standard_);
  level_.end_bin();
  seasonal_.end_bin();
  learn_total();
}

int Detector::patience() const { return std::min(options_.model.level_slices, kMostPatience); }

// A flagged cell is not learned before the level rule accepts it: after so many slices in a row
// what it does is its new level. Its run then stays one beyond.
void Detector::learn_cell(std::size_t cell) {
  for (std::size_t k = 0; k < kHorizons; ++k) excess_[k][cell] = excess_now_[k][cell];
  const float centre = low_rank_.last_expected()[cell] + plain_.horizons.centre(0, cell);
  run_[cell] = flagged_[cell] ? std::uint8_t(std::min(run_[cell] + 1, patience() + 1)) : 0;
  if (flagged_[cell] && run_[cell] < patience()) {
    standard_.values[cell] = double(centre);
    plain_.horizons.hold(cell);
    daily_.horizons.hold(cell);
    return;
  }
  if (standard_.observed[cell]) {
    const float reach = kCleanClip * plain_.horizons.spread(cell);
    plain_.horizons.learn(cell, plain_value_[cell]);
    daily_.horizons.learn(cell, daily_value_[cell]);
    standard_.values[cell] =
        std::clamp(standard_.values[cell], double(centre - reach), double(centre + reach));
  }
  level_.learn(cell, value_[cell]);
  seasonal_.learn(cell, value_[cell] - profile_.value(cell));
  profile_.learn(cell, value_[cell]);
}

// The network's traffic, slowly; what was not observed counts as expected.
void Detector::learn_total() {
  const std::size_t metrics = total_.size();
  std::vector<double> now(metrics, 0.0);
  double volume = 0.0, seen = 0.0;
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    if (slice_.observed[cell]) {
      now[cell % metrics] += slice_.values[cell];
      volume += slice_.values[cell];
      seen += 1.0;
    } else if (!std::isnan(scores_.expected[cell])) {
      now[cell % metrics] += double(scores_.expected[cell]);
    }
  }
  if (seen == 0.0) return;
  const double weight =
      std::max(std::min(0.5, 4.0 * network_.bin_seconds / 86400.0), 1.0 / double(bins_ + 1));
  for (std::size_t m = 0; m < metrics; ++m) {
    if (bins_ < kFirstBins || total_[m] == 0.0) {
      total_[m] += (total_[m] == 0.0 ? 1.0 : weight) * (now[m] - total_[m]);
    } else {
      total_[m] += weight * (std::min(now[m], kMostGrowth * total_[m]) - total_[m]);
    }
  }
  ++bins_;
  if (scale_.learn(volume, seen)) adopt_scale();
}

// Everything held as values is re-expressed in the new scale.
void Detector::adopt_scale() {
  const VolumeScale old = scale_;
  scale_.adopt();
  const auto moved = [&](float value) { return scale_.value_of(double(old.volume_of(value))); };
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    const float before = level_.level(cell), after = moved(before);
    const float slope = before > 0.0f && after > 0.0f
                            ? std::clamp(std::pow(before / after, 3.0f), 0.01f, 100.0f)
                            : 1.0f;
    level_.rescale(cell, after, slope);
    const float profile = profile_.value(cell);
    const float sum = profile + seasonal_.level(cell);
    const float moved_profile = profile_.active(cell) ? moved(profile) : 0.0f;
    seasonal_.rescale(cell, moved(std::max(0.0f, sum)) - moved_profile, slope);
  }
  profile_.reexpress(moved);
}

void Detector::exchange(StateStream& stream) {
  stream.number(bins_, std::int64_t{0}, std::int64_t{1} << 60);
  scale_.exchange(stream);
  profile_.exchange(stream);
  level_.exchange(stream);
  seasonal_.exchange(stream);
  low_rank_.exchange(stream);
  plain_.exchange(stream);
  daily_.exchange(stream);
  rows_.exchange(stream);
  columns_.exchange(stream);
  stream.per_metric(total_);
  for (auto& excess : excess_) stream.per_cell(excess);
  stream.per_cell(run_);
}

}  // namespace outlierd::detect
