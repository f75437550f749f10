#include "core/baselines/simple.h"

namespace outlierd::baselines {
namespace {

class Ewma : public Predictor {
 public:
  Ewma(const Network& network, Scale scale, float weight)
      : weight_(weight),
        scale_(scale),
        spreads_(cell_count(network.shape()), 86400.0 / network.bin_seconds),
        level_(cell_count(network.shape()), kUnknown) {}

  const Prediction& process(const Slice& slice, EpochSeconds, int) override {
    const std::size_t cells = level_.size();
    for (auto* column : {&out_.expected, &out_.residual, &out_.spread})
      column->assign(cells, kUnknown);
    if (!scale_.ready(slice)) return out_;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      float& level = level_[cell];
      if (!std::isnan(level)) out_.expected[cell] = scale_.volume_of(double(level));
      if (!slice.observed[cell]) continue;
      const float value = scale_.value_of(slice.values[cell]);
      if (std::isnan(level)) {
        level = value;
        continue;
      }
      const float residual = value - level;
      if (spreads_.known(cell)) {
        out_.residual[cell] = residual;
        out_.spread[cell] = spreads_.of(cell);
      }
      spreads_.learn(cell, residual);
      level += weight_ * residual;
    }
    spreads_.end_bin();
    return out_;
  }

 private:
  float weight_;
  ValueScale scale_;
  Spreads spreads_;
  std::vector<float> level_;
  Prediction out_;
};

}  // namespace

std::unique_ptr<Predictor> make_ewma(const Network& network, Scale scale, float weight) {
  return std::make_unique<Ewma>(network, scale, weight);
}

}  // namespace outlierd::baselines
