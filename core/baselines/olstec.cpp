#include <deque>

#include "core/baselines/factorization.h"
#include "core/baselines/two_way.h"

namespace outlierd::baselines {
namespace {

constexpr double kForgetting = 0.7, kRegularisation = 0.1;
constexpr double kFirstPrecision = 0.01;
constexpr std::size_t kWindow = 10;

// min over A, B, c of sum_t forgetting^(T-t) (|Y_t - A diag(c_t) B'|^2 + regularisation (|A|^2 +
// |B|^2)), by recursive least squares: each row of A and B has a matrix R of its own,
// R <- forgetting R + sum of its cells' regressors + (1 - forgetting) regularisation I.
class Olstec : public Factorization {
 public:
  Olstec(const SliceShape& shape, int rank, std::uint64_t seed, OlstecWindow window)
      : engine_(seed),
        truncated_(window == OlstecWindow::kTruncated),
        a_(random_matrix(shape[0], rank, engine_), rank),
        b_(random_matrix(shape[1], rank, engine_), rank) {
    rank_ = rank;
  }

  bool update(const Slice& slice) override {
    const std::vector<ObservedCell> cells = observed_cells(slice);
    // The publication regularises the weights by the forgetting factor.
    const Vector c = weights_of(cells, a_.rows, b_.rows, kForgetting);
    reconstruct(a_.rows, c, b_.rows, projected_);
    if (cells.empty()) {
      fitted_ = projected_;
      return true;
    }
    learn(cells, c, b_.rows, a_, true);
    learn(cells, c, a_.rows, b_, false);
    reconstruct(a_.rows, weights_of(cells, a_.rows, b_.rows, kForgetting), b_.rows, fitted_);
    return finite(projected_) && finite(fitted_);
  }

 private:
  struct Past {  // what one slice brought
    std::vector<Matrix> precision;
    Matrix gain;
  };
  struct Factor {
    Factor(Matrix start, int rank)
        : rows(std::move(start)),
          precision(std::size_t(rows.rows()), kFirstPrecision * Matrix::Identity(rank, rank)) {}
    Matrix rows;
    std::vector<Matrix> precision;  // of each row
    std::deque<Past> past;
  };

  void learn(const std::vector<ObservedCell>& cells, const Vector& c, const Matrix& other,
             Factor& factor, bool origins) const {
    const Eigen::Index rank = other.cols(), count = factor.rows.rows();
    const double decay = kRegularisation * (1.0 - kForgetting);
    Past now{std::vector<Matrix>(std::size_t(count), Matrix::Zero(rank, rank)),
             Matrix::Zero(rank, count)};
    for (const ObservedCell& cell : cells) {
      const int mine = origins ? cell.row : cell.column, its = origins ? cell.column : cell.row;
      const Vector regressor = other.row(its).transpose().cwiseProduct(c);
      now.precision[std::size_t(mine)].noalias() += regressor * regressor.transpose();
      now.gain.col(mine) += (cell.value - factor.rows.row(mine).dot(regressor)) * regressor;
    }
    const bool drops = truncated_ && factor.past.size() == kWindow;
    const double faded = std::pow(kForgetting, double(kWindow));
    const Vector last = factor.rows.row(count - 1).transpose();
    for (Eigen::Index i = 0; i < count; ++i) {
      Matrix& precision = factor.precision[std::size_t(i)];
      precision = kForgetting * precision + now.precision[std::size_t(i)];
      precision.diagonal().array() += decay;
      if (drops) precision -= faded * factor.past.front().precision[std::size_t(i)];
      const Vector towards = truncated_ && !origins ? last : factor.rows.row(i).transpose();
      factor.rows.row(i) += solved(precision, now.gain.col(i) - decay * towards).transpose();
      if (drops) factor.rows.row(i) -= faded * factor.past.front().gain.col(i).transpose();
    }
    if (!truncated_) return;
    if (drops) factor.past.pop_front();
    factor.past.push_back(std::move(now));
  }

  std::mt19937_64 engine_;
  bool truncated_;
  Factor a_, b_;
};

}  // namespace

std::unique_ptr<Factorization> make_olstec(const SliceShape& shape, int rank, std::uint64_t seed,
                                           OlstecWindow window) {
  return std::make_unique<Olstec>(shape, rank, seed, window);
}

}  // namespace outlierd::baselines
