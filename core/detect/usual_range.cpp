#include "core/detect/usual_range.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr double kSpreadsADay = 5.0;  // that a quantile can move
constexpr float kFirstSteps = 5.0f;

}  // namespace

UsualRange::UsualRange(std::size_t cells, double bins_a_day)
    : day_(std::uint64_t(std::ceil(bins_a_day))),
      least_step_(float(std::min(0.2, kSpreadsADay / bins_a_day))),
      step_(1.0f / kFirstSteps) {
  quantiles_.fill(std::vector<float>(cells, kUnset));
}

void UsualRange::end_bin() {
  ++bins_;
  step_ = std::max(least_step_, 1.0f / (float(bins_) + kFirstSteps));
}

void UsualRange::exchange(StateStream& stream) {
  if (stream.version() < 3) return;
  stream.number(bins_);
  stream.number(step_, 0.0f, 1.0f);
  for (auto& quantile : quantiles_) stream.per_cell(quantile);
}

}  // namespace outlierd::detect
