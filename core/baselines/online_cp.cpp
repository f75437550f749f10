#include <limits>

#include "core/baselines/factorization.h"
#include "core/baselines/two_way.h"

namespace outlierd::baselines {
namespace {

constexpr std::size_t kFirstSlices = 20;
constexpr int kMostSweeps = 50;
constexpr double kTolerance = 1e-4;  // change of the fit

// A = P Q^-1 with P the sum of Y_t B diag(c_t) and Q that of (c_t c_t') .* (B'B), which are carried
// along instead of the past slices; B likewise.
class OnlineCp : public Factorization {
 public:
  OnlineCp(const SliceShape& shape, int rank, std::uint64_t seed) : shape_(shape), engine_(seed) {
    rank_ = rank;
  }

  bool update(const Slice& slice) override {
    Matrix y(shape_[0], shape_[1]);
    for (Eigen::Index i = 0; i < y.rows(); ++i)
      for (Eigen::Index j = 0; j < y.cols(); ++j) {
        const auto cell = std::size_t(i * y.cols() + j);
        y(i, j) = slice.observed[cell]    ? slice.values[cell]
                  : cell < filled_.size() ? filled_[cell]
                                          : 0.0;
      }
    if (a_.size() > 0) return learn(y);
    first_.push_back(y);
    projected_.assign(slice.values.size(), std::numeric_limits<double>::quiet_NaN());
    fitted_ = projected_;
    if (first_.size() < kFirstSlices) return false;
    start();
    return false;
  }

 private:
  Vector weights(const Matrix& y) const {
    const Matrix gram = (a_.transpose() * a_).cwiseProduct(b_.transpose() * b_);
    const Vector products = (a_.transpose() * y * b_).diagonal();
    return solved(gram, products);
  }

  // Alternating least squares from a random start.
  void start() {
    const Eigen::Index rank = rank_, slices = Eigen::Index(first_.size());
    a_ = random_matrix(shape_[0], rank, engine_);
    b_ = random_matrix(shape_[1], rank, engine_);
    Matrix c = random_matrix(slices, rank, engine_);
    double size = 0.0, before = 0.0;
    for (const Matrix& y : first_) size += y.squaredNorm();
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      gather(c, true, p_a_, q_a_);
      a_ = solved_rows(p_a_, q_a_);
      gather(c, false, p_b_, q_b_);
      b_ = solved_rows(p_b_, q_b_);
      double error = 0.0;
      for (Eigen::Index t = 0; t < slices; ++t) {
        const Matrix& y = first_[std::size_t(t)];
        c.row(t) = weights(y).transpose();
        error += (y - a_ * c.row(t).asDiagonal() * b_.transpose()).squaredNorm();
      }
      const double fit = 1.0 - std::sqrt(error / size);
      if (sweep > 0 && std::abs(fit - before) < kTolerance) break;
      before = fit;
    }
    gather(c, true, p_a_, q_a_);
    gather(c, false, p_b_, q_b_);
    first_.clear();
  }

  void gather(const Matrix& c, bool rows, Matrix& p, Matrix& q) const {
    const Matrix& other = rows ? b_ : a_;
    p = Matrix::Zero(rows ? a_.rows() : b_.rows(), other.cols());
    q = (c.transpose() * c).cwiseProduct(other.transpose() * other);
    for (Eigen::Index t = 0; t < c.rows(); ++t) {
      const Matrix& y = first_[std::size_t(t)];
      if (rows)
        p += y * other * c.row(t).asDiagonal();
      else
        p += y.transpose() * other * c.row(t).asDiagonal();
    }
  }

  bool learn(const Matrix& y) {
    const Vector c = weights(y);
    reconstruct(a_, c, b_, projected_);
    filled_ = projected_;
    const Matrix cc = c * c.transpose();
    p_a_ += y * b_ * c.asDiagonal();
    q_a_ += cc.cwiseProduct(b_.transpose() * b_);
    const Matrix a = solved_rows(p_a_, q_a_);
    p_b_ += y.transpose() * a_ * c.asDiagonal();
    q_b_ += cc.cwiseProduct(a_.transpose() * a_);
    b_ = solved_rows(p_b_, q_b_);
    a_ = a;
    reconstruct(a_, c, b_, fitted_);
    return finite(projected_) && finite(fitted_);
  }

  SliceShape shape_;
  std::mt19937_64 engine_;
  std::vector<Matrix> first_;
  Matrix a_, b_, p_a_, p_b_, q_a_, q_b_;
  std::vector<double> filled_;  // what was expected of the last slice
};

}  // namespace

std::unique_ptr<Factorization> make_online_cp(const SliceShape& shape, int rank,
                                              std::uint64_t seed) {
  return std::make_unique<OnlineCp>(shape, rank, seed);
}

}  // namespace outlierd::baselines
