#include <Eigen/Core>
#include <algorithm>

#include "core/baselines/simple.h"
#include "core/model/symmetric_eigen.h"

namespace outlierd::baselines {
namespace {

using FloatMatrix = Eigen::MatrixXf;
using FloatVector = Eigen::VectorXf;

constexpr int kCovarianceDays = 7;
constexpr int kComponents = 10;  // of the normal subspace
constexpr double kRefitsPerDay = 4.0;
constexpr double kFirstFitDays = 0.5;

// x = normal part + residual, the normal part in the span of the leading components of the past
// week's covariance, about the week's mean. A cell that was not observed enters as its mean.
class Subspace : public Predictor {
 public:
  explicit Subspace(const Network& network)
      : bins_a_day_(86400.0 / network.bin_seconds),
        rows_(std::max(32, int(kCovarianceDays * bins_a_day_))),
        spreads_(cell_count(network.shape()), bins_a_day_),
        past_(FloatMatrix::Zero(Eigen::Index(cell_count(network.shape())), rows_)),
        seen_(FloatMatrix::Zero(past_.rows(), rows_)),
        mean_(FloatVector::Zero(past_.rows())),
        value_(FloatVector::Zero(past_.rows())) {}

  const Prediction& process(const Slice& slice, EpochSeconds, int) override {
    const std::size_t cells = slice.values.size();
    for (auto* column : {&out_.expected, &out_.residual, &out_.spread})
      column->assign(cells, kUnknown);
    if (!scale_.ready(slice)) return out_;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const auto at = Eigen::Index(cell);
      value_(at) = slice.observed[cell] ? scale_.value_of(slice.values[cell]) : mean_(at);
    }
    if (components_.cols() > 0) predict(slice);
    remember(slice);
    return out_;
  }

 private:
  void predict(const Slice& slice) {
    const FloatVector centred = value_ - mean_;
    const FloatVector normal = components_ * (components_.transpose() * centred) + mean_;
    for (std::size_t cell = 0; cell < slice.values.size(); ++cell) {
      const auto at = Eigen::Index(cell);
      out_.expected[cell] = scale_.volume_of(double(normal(at)));
      if (!slice.observed[cell]) continue;
      const float residual = value_(at) - normal(at);
      if (spreads_.known(cell)) {
        out_.residual[cell] = residual;
        out_.spread[cell] = spreads_.of(cell);
      }
      spreads_.learn(cell, residual);
    }
    spreads_.end_bin();
  }

  void remember(const Slice& slice) {
    const Eigen::Index column = Eigen::Index(bins_ % std::uint64_t(rows_));
    past_.col(column) = value_;
    for (std::size_t cell = 0; cell < slice.values.size(); ++cell)
      seen_(Eigen::Index(cell), column) = slice.observed[cell] ? 1.0f : 0.0f;
    ++bins_;
    const auto every = std::uint64_t(std::max(1.0, bins_a_day_ / kRefitsPerDay));
    if (double(bins_) >= kFirstFitDays * bins_a_day_ && bins_ % every == 0) fit();
  }

  void fit() {
    const Eigen::Index bins = Eigen::Index(std::min(bins_, std::uint64_t(rows_)));
    const auto values = past_.leftCols(bins);
    const auto seen = seen_.leftCols(bins);
    const FloatVector counts = seen.rowwise().sum().cwiseMax(1.0f);
    mean_ = (values.cwiseProduct(seen)).rowwise().sum().cwiseQuotient(counts);
    const FloatMatrix centred = (values.colwise() - mean_).cwiseProduct(seen);
    FloatMatrix covariance = FloatMatrix::Zero(centred.rows(), centred.rows());
    covariance.selfadjointView<Eigen::Lower>().rankUpdate(centred, 1.0f / float(bins));
    FloatVector variances;
    FloatMatrix directions;
    if (!model::symmetric_eigen(covariance, variances, directions)) return;
    const Eigen::Index rank = std::min<Eigen::Index>(kComponents, covariance.rows() - 1);
    components_ = directions.rightCols(rank);
  }

  double bins_a_day_;
  int rows_;
  ValueScale scale_{Scale::kRoot};
  Spreads spreads_;
  std::uint64_t bins_ = 0;
  FloatMatrix past_, seen_;  // cell, bin
  FloatMatrix components_;
  FloatVector mean_, value_;
  Prediction out_;
};

}  // namespace

std::unique_ptr<Predictor> make_subspace(const Network& network) {
  return std::make_unique<Subspace>(network);
}

}  // namespace outlierd::baselines
