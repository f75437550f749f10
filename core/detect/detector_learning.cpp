// What the detector takes from a slice once it was scored.

#include <algorithm>
#include <cmath>

#include "core/detect/detector.h"

namespace outlierd::detect {
namespace {

constexpr int kMostPatience = 200;
constexpr float kCleanClip = 3.0f;  // spreads: what the factors may learn of one bin

}  // namespace

void Detector::learn(std::span<const std::uint32_t> flagged) {
  settled_.clear();
  if (ready())
    team_.run(2, [&](int part) { (part == 0 ? plain_ : daily_).learn_tails(standard_.observed); });
  channels_.learn(channels_input(), slice_.observed, scores_.expected, ready(), team_);
  for (std::uint32_t cell : flagged) flagged_[cell] = 1;
  for_cells(team_, value_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell)
      if (slice_.observed[cell]) learn_cell(cell);
  });
  for (std::uint32_t cell : flagged) {
    flagged_[cell] = 0;
    if (run_[cell] == patience()) settled_.push_back(cell);
  }
  if (!options_.without.has(Part::kLowRank)) low_rank_.learn(standard_);
  level_.end_bin();
  seasonal_.end_bin();
  learn_volume();
}

int Detector::patience() const { return std::min(options_.model.level_slices, kMostPatience); }

// A flagged cell is not learned before the level rule accepts it: after so many slices in a row
// what it does is its new level. Its run then stays one beyond.
void Detector::learn_cell(std::size_t cell) {
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

void Detector::learn_volume() {
  double volume = 0.0, seen = 0.0;
  for (std::size_t cell = 0; cell < value_.size(); ++cell) {
    if (!slice_.observed[cell]) continue;
    volume += slice_.values[cell];
    seen += 1.0;
  }
  if (seen == 0.0) return;
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
  channels_.exchange(stream);
  stream.per_cell(run_);
}

}  // namespace outlierd::detect
