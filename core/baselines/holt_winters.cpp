#include <algorithm>

#include "core/baselines/simple.h"
#include "core/baselines/z_method.h"

namespace outlierd::baselines {
namespace {

// A trend of one bin is noise.
constexpr float kLevelWeight = 0.05f, kTrendWeight = 0.0f, kSeasonWeight = 0.3f;
constexpr float kFirstWeight = 0.3f;

// expected = level + trend + season of that bin of the local day. The first day has a quick level
// only; from it the season starts, as the deviation from the day's mean.
class HoltWinters : public Predictor {
 public:
  explicit HoltWinters(const Network& network)
      : bin_seconds_(network.bin_seconds),
        slots_(std::size_t(std::max(1, kSecondsADay / network.bin_seconds))),
        spreads_(cell_count(network.shape()), 86400.0 / network.bin_seconds),
        level_(cell_count(network.shape()), kUnknown),
        trend_(level_.size(), 0.0f),
        season_(slots_ * level_.size(), kUnknown) {}

  const Prediction& process(const Slice& slice, EpochSeconds, int second_of_day) override {
    const std::size_t cells = level_.size();
    for (auto* column : {&out_.expected, &out_.residual, &out_.spread})
      column->assign(cells, kUnknown);
    if (!scale_.ready(slice)) return out_;
    const std::size_t slot = std::min(slots_ - 1, std::size_t(second_of_day / bin_seconds_));
    for (std::size_t cell = 0; cell < cells; ++cell)
      step(slice, cell, season_[slot * cells + cell]);
    spreads_.end_bin();
    if (++bins_ == slots_) start_season();
    return out_;
  }

 private:
  bool first_day() const { return bins_ < slots_; }

  void step(const Slice& slice, std::size_t cell, float& season) {
    float& level = level_[cell];
    const float expected = first_day() ? level : level + trend_[cell] + season;
    if (!std::isnan(expected)) out_.expected[cell] = scale_.volume_of(double(expected));
    if (!slice.observed[cell]) return;
    const float value = scale_.value_of(slice.values[cell]);
    if (first_day()) season = value;
    if (std::isnan(level)) {
      level = value;
      return;
    }
    const float residual = value - expected;
    if (spreads_.known(cell)) {
      out_.residual[cell] = residual;
      out_.spread[cell] = spreads_.of(cell);
    }
    spreads_.learn(cell, residual);
    if (first_day()) {
      level += kFirstWeight * residual;
      return;
    }
    // The usual recursions in error form.
    const float before = level;
    level += trend_[cell] + kLevelWeight * residual;
    trend_[cell] += kTrendWeight * (level - before - trend_[cell]);
    season += kSeasonWeight * (value - level - season);
  }

  void start_season() {
    const std::size_t cells = level_.size();
    for (std::size_t cell = 0; cell < cells; ++cell) {
      float sum = 0.0f, seen = 0.0f;
      for (std::size_t slot = 0; slot < slots_; ++slot)
        if (const float value = season_[slot * cells + cell]; !std::isnan(value))
          sum += value, seen += 1.0f;
      const float mean = seen > 0.0f ? sum / seen : kUnknown;
      for (std::size_t slot = 0; slot < slots_; ++slot) {
        float& season = season_[slot * cells + cell];
        season = std::isnan(season) ? 0.0f : season - mean;
      }
      level_[cell] = mean;
    }
  }

  int bin_seconds_;
  std::size_t slots_, bins_ = 0;
  ValueScale scale_{Scale::kRoot};
  Spreads spreads_;
  std::vector<float> level_, trend_;
  std::vector<float> season_;  // slot, cell
  Prediction out_;
};

}  // namespace

std::unique_ptr<Predictor> make_holt_winters(const Network& network) {
  return std::make_unique<HoltWinters>(network);
}

}  // namespace outlierd::baselines
