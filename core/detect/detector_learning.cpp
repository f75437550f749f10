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
  const bool tails = ready();
  channels_.learn(channels_input(), slice_->observed, expected_, tails, team_);
  for (std::uint32_t cell : flagged) flagged_[cell] = 1;
  double volume = 0.0, seen = 0.0;
  const auto sum_up = [&] {
    for (std::size_t cell = 0; cell < value_.size(); ++cell) {
      volume += slice_->observed[cell] ? slice_->values[cell] : 0.0;
      seen += slice_->observed[cell] ? 1.0 : 0.0;
    }
  };
  for_parts_beside(team_, value_.size(), sum_up, [&](int part, std::size_t begin, std::size_t end) {
    for_blocks(begin, end, [&](std::size_t from, std::size_t to) {
      if (tails) plain_.learn_tails(standard_.observed, part, from, to);
      if (tails) daily_.learn_tails(standard_.observed, part, from, to);
      set_lessons(from, to);
      for_lanes(from, to, [&](auto at) { learn_at(at); });
      plain_.horizons.learn(plain_value_, lessons_, from, to);
      daily_.horizons.learn(daily_value_, lessons_, from, to);
    });
  });
  if (tails)
    team_.run(int(2 * kHorizons), [&](int task) {
      (task % 2 == 0 ? plain_ : daily_).pool_tails(std::size_t(task) / 2);
    });
  for (std::uint32_t cell : flagged) {
    flagged_[cell] = 0;
    if (run_[cell] == patience()) settled_.push_back(cell);
  }
  if (!options_.without.has(Part::kLowRank)) low_rank_.end_bin(team_);
  level_.end_bin();
  range_.end_bin();
  seasonal_.end_bin();
  learn_volume(volume, seen);
}

int Detector::patience() const { return std::min(options_.model.level_slices, kMostPatience); }

// A flagged cell is not learned before the level rule accepts it: after so many slices in a row
// what it does is its new level. Its run then stays one beyond. The horizons have nothing to learn
// of a cell that is not standardised yet.
void Detector::set_lessons(std::size_t begin, std::size_t end) {
  const int patient = patience();
  for (std::size_t cell = begin; cell < end; ++cell) {
    lessons_[cell] = standard_.observed[cell] ? kLearn : kSkip;
    if (!slice_->observed[cell]) continue;
    run_[cell] = flagged_[cell] ? std::uint8_t(std::min(run_[cell] + 1, patient + 1)) : 0;
    if (flagged_[cell] && run_[cell] < patient) lessons_[cell] = kHold;
  }
}

// The levels and the profile; what the factors may see of the cells. Before the horizons learn.
template <class At>
void Detector::learn_at(At at) {
  const LaneMask held = load_bytes(lessons_.data(), at) == int(kHold);
  const LaneMask measured = load_bytes(slice_->observed.data(), at) != 0;
  const LaneMask known = load_bytes(standard_.observed.data(), at) != 0;
  const Lanes centre = load(low_rank_.expected().data(), at) + plain_.horizons.centre_at(0, at);
  const Lanes reach = kCleanClip * plain_.horizons.spread_at(at);
  const Lanes standard =
      joined(load_half(standard_.values.data(), at, 0), load_half(standard_.values.data(), at, 1));
  const Lanes cleaned = clamped(standard, centre - reach, centre + reach);
  low_rank_.learn_at(at, choose(held, centre, cleaned), known);

  const LaneMask learned = measured & ~held;
  const Lanes value = load(value_.data(), at);
  range_.learn_at(at, value, level_.spread_at(at), known);
  level_.learn_at(at, value, learned);
  seasonal_.learn_at(at, value - profile_.value_at(at), learned);
  profile_.learn_at(at, value, learned);
}

void Detector::learn_volume(double volume, double seen) {
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
  range_.reexpress([&](float value) { return moved(std::max(0.0f, value)); });
}

void Detector::exchange(StateStream& stream) {
  stream.number(bins_, std::int64_t{0}, std::int64_t{1} << 60);
  scale_.exchange(stream);
  profile_.exchange(stream);
  level_.exchange(stream);
  seasonal_.exchange(stream);
  range_.exchange(stream);
  low_rank_.exchange(stream);
  plain_.exchange(stream);
  daily_.exchange(stream);
  channels_.exchange(stream);
  stream.per_cell(run_);
}

}  // namespace outlierd::detect
