#include "core/detect/restlessness.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr int kDay = 86400;
constexpr int kFirstDays = 2;
constexpr float kDayWeight = 0.25f;
constexpr double kCountedShare = 0.1;  // of the cells, the highest
constexpr float kExponent = 0.5f;
constexpr float kStep = 0.05f;  // of the histogram
constexpr std::size_t kSteps = 200;

}  // namespace

Restlessness::Restlessness(int bin_seconds)
    : slot_seconds_(std::clamp(bin_seconds, 1, kDay)),
      mean_(std::size_t((kDay + slot_seconds_ - 1) / slot_seconds_), 0.0f),
      days_(mean_.size(), 0) {}

std::size_t Restlessness::slot_of(int second_of_day) const {
  return std::size_t(std::clamp(second_of_day, 0, kDay - 1) / slot_seconds_);
}

float Restlessness::calm(int second_of_day) const {
  const std::size_t slot = slot_of(second_of_day);
  if (days_[slot] < kFirstDays || !(double(mean_[slot]) > usual_)) return 1.0f;
  return std::pow(float(usual_) / mean_[slot], kExponent);
}

// To a step of a histogram; 0 where there are no scores.
float Restlessness::of(std::span<const float> tails) {
  std::array<std::uint32_t, kSteps> histogram{};
  std::size_t cells = 0;
  for (float tail : tails) {
    if (std::isnan(tail)) continue;
    ++cells;
    ++histogram[std::size_t(std::min(std::abs(tail) / kStep, float(kSteps - 1)))];
  }
  const auto wanted = std::max<std::size_t>(std::min<std::size_t>(cells, 3),
                                            std::size_t(kCountedShare * double(cells)));
  double sum = 0.0;
  std::size_t left = wanted;
  for (std::size_t step = kSteps; step-- > 0 && left > 0;) {
    const std::size_t taken = std::min<std::size_t>(left, histogram[step]);
    sum += double(taken) * (double(step) + 0.5) * double(kStep);
    left -= taken;
  }
  return wanted == 0 ? 0.0f : float(sum / double(wanted));
}

void Restlessness::learn(int second_of_day, float restless) {
  if (!(restless > 0.0f)) return;
  const std::size_t slot = slot_of(second_of_day);
  mean_[slot] += std::max(kDayWeight, 1.0f / float(days_[slot] + 1)) * (restless - mean_[slot]);
  if (days_[slot] < 255) ++days_[slot];
  const double weight = std::max(double(slot_seconds_) / kDay, 1.0 / double(slices_ + 1));
  usual_ += weight * (double(restless) - usual_);
  ++slices_;
}

void Restlessness::exchange(StateStream& stream) {
  stream.number(usual_, 0.0, 1e6);
  stream.number(slices_, std::int64_t{0}, std::int64_t{1} << 60);
  stream.fixed(mean_);
  stream.fixed(days_);
}

}  // namespace outlierd::detect
