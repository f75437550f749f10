#include <algorithm>
#include <array>

#include "core/baselines/simple.h"
#include "core/baselines/z_method.h"

namespace outlierd::baselines {
namespace {

constexpr int kDays = 7;

// The last kDays values of every bin of the local day, a cell.
class Seasonal : public Predictor {
 public:
  explicit Seasonal(const Network& network)
      : bin_seconds_(network.bin_seconds),
        slots_(std::size_t(std::max(1, kSecondsADay / network.bin_seconds))),
        spreads_(cell_count(network.shape()), 86400.0 / network.bin_seconds),
        past_(slots_ * cell_count(network.shape()) * kDays, kUnknown),
        next_(slots_, 0) {}

  const Prediction& process(const Slice& slice, EpochSeconds, int second_of_day) override {
    const std::size_t cells = slice.values.size();
    for (auto* column : {&out_.expected, &out_.residual, &out_.spread})
      column->assign(cells, kUnknown);
    if (!scale_.ready(slice)) return out_;
    const std::size_t slot = std::min(slots_ - 1, std::size_t(second_of_day / bin_seconds_));
    float* const at = past_.data() + slot * cells * kDays;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const float expected = median(at + cell * kDays);
      if (!std::isnan(expected)) out_.expected[cell] = scale_.volume_of(double(expected));
      float& oldest = at[cell * kDays + next_[slot]];
      oldest = kUnknown;
      if (!slice.observed[cell]) continue;
      const float value = scale_.value_of(slice.values[cell]);
      oldest = value;
      if (std::isnan(expected)) continue;
      if (spreads_.known(cell)) {
        out_.residual[cell] = value - expected;
        out_.spread[cell] = spreads_.of(cell);
      }
      spreads_.learn(cell, value - expected);
    }
    next_[slot] = (next_[slot] + 1) % kDays;
    spreads_.end_bin();
    return out_;
  }

 private:
  static float median(const float* values) {
    std::array<float, kDays> known{};
    std::size_t count = 0;
    for (int day = 0; day < kDays; ++day) {  // a few, sorted as they come
      if (std::isnan(values[day])) continue;
      std::size_t at = count++;
      for (; at > 0 && known[at - 1] > values[day]; --at) known[at] = known[at - 1];
      known[at] = values[day];
    }
    if (count == 0) return kUnknown;
    return 0.5f * (known[(count - 1) / 2] + known[count / 2]);
  }

  int bin_seconds_;
  std::size_t slots_;
  ValueScale scale_{Scale::kRoot};
  Spreads spreads_;
  std::vector<float> past_;  // slot, cell, day
  std::vector<std::size_t> next_;
  Prediction out_;
};

}  // namespace

std::unique_ptr<Predictor> make_seasonal(const Network& network) {
  return std::make_unique<Seasonal>(network);
}

}  // namespace outlierd::baselines
