#include "core/detect/volume_scale.h"

namespace outlierd::detect {
namespace {

constexpr double kShare = 0.2;          // of the mean volume a cell
constexpr std::size_t kScaleBins = 20;  // their median sets the first scale
constexpr double kScaleWeight = 1.0 / 2000.0;
constexpr double kMoved = 1.5;

}  // namespace

bool VolumeScale::learn(double volume, double cells) {
  if (!(cells > 0.0)) return false;
  const double now = volume / cells;
  if (first_.size() < kScaleBins) {
    first_.push_back(now);
    std::vector<double> sorted(first_);
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(sorted.size() / 2),
                     sorted.end());
    mean_ = sorted[sorted.size() / 2];
    if (first_.size() > 1 && first_.size() < kScaleBins && offset_ > 0.0) return false;
  } else {
    mean_ += kScaleWeight * (std::min(now, 3.0 * mean_) - mean_);
    const double moved = kShare * mean_ / offset_;
    if (offset_ > 0.0 && moved < kMoved && moved > 1.0 / kMoved) return false;
  }
  wanted_ = kShare * mean_;
  return wanted_ != offset_;
}

void VolumeScale::exchange(StateStream& stream) {
  stream.number(offset_, 0.0, 1e300);
  stream.number(mean_, 0.0, 1e300);
  stream.list(first_, kScaleBins);
}

}  // namespace outlierd::detect
