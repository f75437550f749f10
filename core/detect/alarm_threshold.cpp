#include "core/detect/alarm_threshold.h"

#include <algorithm>
#include <cmath>

#include "core/detect/sigma.h"

namespace outlierd::detect {
namespace {

constexpr int kBridge = 2;  // quiet bins inside one alarm
constexpr double kMemoryDays = 10.0;
constexpr double kSettlingDays = 2.5;  // in which the tails are learned, and scores run high
constexpr std::size_t kMostPeaks = 65536;
constexpr double kTrustDays = 0.1;  // of past that the calibration alone is worth
constexpr float kHighest = 35.0f;   // sigmas

}  // namespace

std::int64_t alarms_over(std::span<const float> peaks, float threshold, int bins_an_hour) {
  std::int64_t cost = 0, first = -1, last = -1;
  for (std::int64_t i = 0; i < std::int64_t(peaks.size()); ++i) {
    if (peaks[std::size_t(i)] <= threshold) continue;
    if (first < 0 || i - last > kBridge + 1) {
      if (first >= 0) cost += 1 + (last - first) / bins_an_hour;
      first = i;
    }
    last = i;
  }
  return first < 0 ? cost : cost + 1 + (last - first) / bins_an_hour;
}

AlarmThreshold::AlarmThreshold(double alarms_per_day, int bin_seconds, std::size_t cells)
    : budget_(alarms_per_day),
      bins_a_day_(86400.0 / bin_seconds),
      cells_(double(cells)),
      bins_an_hour_(std::max(1, int(std::lround(3600.0 / bin_seconds)))),
      capacity_(std::clamp<std::size_t>(std::size_t(kMemoryDays * bins_a_day_), 64, kMostPeaks)) {
  learn();
}

void AlarmThreshold::add(float peak) {
  if (peaks_.size() < capacity_) {
    peaks_.push_back(peak);
  } else {
    peaks_[added_ % capacity_] = peak;
  }
  ++added_;
  if (added_ % std::uint64_t(bins_an_hour_) == 0) learn();
}

// What the past cost, and what kTrustDays of a calibrated score would.
double AlarmThreshold::cost(std::span<const float> peaks, float threshold) const {
  const double rate = cells_ * std::pow(10.0, -tail_of_sigma(threshold));
  return double(alarms_over(peaks, threshold, bins_an_hour_)) +
         kTrustDays * bins_a_day_ * -std::expm1(-rate);
}

void AlarmThreshold::learn() {
  std::vector<float> past(peaks_);
  if (peaks_.size() == capacity_)  // oldest first
    std::rotate(past.begin(), past.begin() + std::ptrdiff_t(added_ % capacity_), past.end());
  // What was scored before the tails were learned counts until there is as much after it.
  const auto settling = std::uint64_t(kSettlingDays * bins_a_day_), gone = added_ - peaks_.size();
  const std::size_t early = settling > gone ? std::size_t(settling - gone) : 0;
  past.erase(past.begin(), past.begin() + std::ptrdiff_t(std::min(early, past.size() / 2)));
  const double allowed = budget_ * (double(past.size()) / bins_a_day_ + kTrustDays);
  float low = 0.5f, high = kHighest;
  for (int step = 0; step < 24; ++step) {
    const float middle = 0.5f * (low + high);
    (cost(past, middle) > allowed ? low : high) = middle;
  }
  sigmas_ = high;
}

// Version 2 remembers four weeks, in a ring of its own size.
void AlarmThreshold::keep_newest() {
  if (added_ > peaks_.size() && !peaks_.empty())
    std::rotate(peaks_.begin(), peaks_.begin() + std::ptrdiff_t(added_ % peaks_.size()),
                peaks_.end());
  if (peaks_.size() < capacity_) return;
  peaks_.erase(peaks_.begin(), peaks_.end() - std::ptrdiff_t(capacity_));
  added_ = added_ / capacity_ * capacity_;  // the oldest is the first of the ring
}

void AlarmThreshold::exchange(StateStream& stream) {
  const std::size_t most = stream.version() < 3 ? kMostPeaks : capacity_;
  stream.list(peaks_, most);
  stream.number(added_);
  if (stream.reading()) {
    if (added_ < peaks_.size()) stream.fail();
    if (stream.version() < 3) {
      keep_newest();
    } else if (added_ > peaks_.size() && peaks_.size() < capacity_) {
      stream.fail();
    }
  }
  stream.number(sigmas_, 0.0f, kHighest);
  double budget = budget_;
  stream.number(budget, 0.0, 1e12);
  if (budget != budget_ && !stream.failed()) learn();
}

}  // namespace outlierd::detect
