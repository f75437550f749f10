#include "core/baselines/factorization_predictor.h"

#include <algorithm>

namespace outlierd::baselines {
namespace {

class FactorizationPredictor : public Predictor {
 public:
  FactorizationPredictor(const Network& network, std::unique_ptr<Factorization> factorization,
                         Scale scale, bool by_sparse_part)
      : factorization_(std::move(factorization)),
        scale_(scale),
        by_sparse_part_(by_sparse_part),
        spreads_(cell_count(network.shape()), 86400.0 / network.bin_seconds),
        values_(network.shape()) {}

  const Prediction& process(const Slice& slice, EpochSeconds, int) override {
    const std::size_t cells = slice.values.size();
    for (auto* column : {&out_.expected, &out_.residual, &out_.spread})
      column->assign(cells, kUnknown);
    if (!scale_.ready(slice)) return out_;
    if (std::none_of(slice.observed.begin(), slice.observed.end(), [](auto seen) { return seen; }))
      return out_;
    take(slice);
    if (!factorization_->update(values_)) return out_;
    for (std::size_t cell = 0; cell < cells; ++cell) say(slice, cell);
    spreads_.end_bin();
    return out_;
  }

 private:
  void take(const Slice& slice) {
    double squares = 0.0, count = 0.0;
    values_.observed = slice.observed;
    for (std::size_t cell = 0; cell < slice.values.size(); ++cell) {
      if (!slice.observed[cell]) continue;
      values_.values[cell] = double(scale_.value_of(slice.values[cell]));
      squares += values_.values[cell] * values_.values[cell];
      count += 1.0;
    }
    if (unit_ == 0.0) unit_ = by_sparse_part_ ? 1.0 : std::sqrt(squares / count);
    for (double& value : values_.values) value /= unit_;
  }

  void say(const Slice& slice, std::size_t cell) {
    const double expected = unit_ * factorization_->projected()[cell];
    out_.expected[cell] = scale_.volume_of(expected);
    if (!slice.observed[cell]) return;
    const double part =
        by_sparse_part_ ? factorization_->sparse()[cell] : unit_ * values_.values[cell] - expected;
    const auto residual = float(part);
    if (spreads_.known(cell)) {
      out_.residual[cell] = residual;
      // The sparse part is compared as it is: the method says itself what is noise.
      out_.spread[cell] = by_sparse_part_ ? 1.0f : spreads_.of(cell);
    }
    spreads_.learn(cell, residual);
  }

  std::unique_ptr<Factorization> factorization_;
  ValueScale scale_;
  bool by_sparse_part_;
  Spreads spreads_;
  double unit_ = 0.0;
  Slice values_;
  Prediction out_;
};

}  // namespace

std::unique_ptr<Predictor> make_factorization_predictor(
    const Network& network, std::unique_ptr<Factorization> factorization, Scale scale,
    bool by_sparse_part) {
  return std::make_unique<FactorizationPredictor>(network, std::move(factorization), scale,
                                                  by_sparse_part);
}

}  // namespace outlierd::baselines
