#include "core/detect/tails.h"

#include <algorithm>
#include <numbers>

namespace outlierd::detect {
namespace {

constexpr float kFirstLevel = 2.5f;
constexpr double kFirstShape = 0.3, kFirstCount = 100.0;
constexpr double kMostCount = 5000.0;  // exceedances that the pooled shape remembers
constexpr double kFirstGain = 0.3, kLeastGain = 0.05;

}  // namespace

Tails::Tails(std::size_t series, float horizon_bins)
    : up_(series, kFirstLevel),
      down_(series, kFirstLevel),
      up_own_(series, float(kFirstShape)),
      down_own_(series, float(kFirstShape)),
      up_shape_(kFirstShape),
      down_shape_(kFirstShape),
      up_count_(kFirstCount),
      down_count_(kFirstCount),
      news_(1.0 / double(horizon_bins)),
      own_weight_(kOwnWeight / horizon_bins) {
  set_gain();
}

void Tails::set_gain() {
  const double gain = std::max(kLeastGain * news_, kFirstGain / (1.0 + double(bins_) / 100.0));
  rise_ = float(std::exp(gain * (1.0 - double(kRate))));
  fall_ = float(std::exp(-gain * double(kRate)));
}

template <class At>
void Tails::step_at(At at, Lanes size, LaneMask observed, float* levels, float* own,
                    std::vector<float>& beyond) const {
  const Lanes level = load(levels, at);
  const Lanes fallen = highest(level * fall_, splat(kLeastLevel));
  store(levels, at, choose(observed, fallen, level));
  for (unsigned far = bits_of(observed & (size > level)); far != 0; far &= far - 1) {
    const auto lane = std::size_t(std::countr_zero(far));
    float before = level[lane];
    beyond.push_back(exceed(before, size[lane], own[at.cell + lane]));
    levels[at.cell + lane] = before;
  }
}

void Tails::learn(std::size_t begin, std::size_t end, const float* deviation,
                  const std::uint8_t* observed, Exceedances& beyond) {
  for_lanes(0, end - begin, [&](auto at) {
    const Lanes value = load(deviation, at), size = magnitude(value), none = {};
    const LaneMask seen = load_bytes(observed, at) != 0, rise = value >= none;
    step_at(at, choose(rise, size, none), seen, up_.data() + begin, up_own_.data() + begin,
            beyond.up);
    step_at(at, choose(rise, none, size), seen, down_.data() + begin, down_own_.data() + begin,
            beyond.down);
  });
}

void Tails::pool(const Exceedances& beyond) {
  for (float excess : beyond.up) pool(excess, up_shape_, up_count_);
  for (float excess : beyond.down) pool(excess, down_shape_, down_count_);
}

void Tails::end_bin() {
  ++bins_;
  up_count_ = std::min(up_count_, kMostCount);
  down_count_ = std::min(down_count_, kMostCount);
  set_gain();
}

void Tails::exchange_pooled(StateStream& stream) {
  for (double* shape : {&up_shape_, &down_shape_}) stream.number(*shape, 0.0, 1e3);
  for (double* count : {&up_count_, &down_count_}) stream.number(*count, 1.0, 1e6);
  stream.number(bins_);
  if (stream.reading())
    for (auto* levels : {&up_, &down_})
      for (float level : *levels)
        if (!(level >= kLeastLevel)) stream.fail();
  set_gain();
}

void Tails::exchange_cells(StateStream& stream) {
  stream.per_cell(up_);
  stream.per_cell(down_);
  stream.per_cell(up_own_);
  stream.per_cell(down_own_);
  exchange_pooled(stream);
}

void Tails::exchange_nodes(StateStream& stream) {
  stream.per_node(up_);
  stream.per_node(down_);
  stream.per_node(up_own_);
  stream.per_node(down_own_);
  exchange_pooled(stream);
}

}  // namespace outlierd::detect
