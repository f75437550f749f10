#include "core/baselines/factorization.h"
#include "core/baselines/two_way.h"

namespace outlierd::baselines {
namespace {

constexpr double kSgdRegularisation = 0.001, kFirstStep = 0.1;

class OnlineSgd : public Factorization {
 public:
  OnlineSgd(const SliceShape& shape, int rank, std::uint64_t seed) : engine_(seed) {
    a_ = random_matrix(shape[0], rank, engine_);
    b_ = random_matrix(shape[1], rank, engine_);
    rank_ = rank;
  }

  bool update(const Slice& slice) override {
    const std::vector<ObservedCell> cells = observed_cells(slice);
    const Vector c = weights_of(cells, a_, b_, kSgdRegularisation);
    reconstruct(a_, c, b_, projected_);
    slices_ += 1.0;
    const double step = kFirstStep / (1.0 + kSgdRegularisation * kFirstStep * slices_);
    Matrix a = (1.0 - kSgdRegularisation * step) * a_, b = (1.0 - kSgdRegularisation * step) * b_;
    for (const ObservedCell& cell : cells) {
      const double residual =
          cell.value - a_.row(cell.row).cwiseProduct(b_.row(cell.column)).dot(c);
      a.row(cell.row) += step * residual * b_.row(cell.column).cwiseProduct(c.transpose());
      b.row(cell.column) += step * residual * a_.row(cell.row).cwiseProduct(c.transpose());
    }
    a_.swap(a);
    b_.swap(b);
    reconstruct(a_, weights_of(cells, a_, b_, kSgdRegularisation), b_, fitted_);
    return finite(projected_) && finite(fitted_);
  }

 private:
  std::mt19937_64 engine_;
  Matrix a_, b_;
  double slices_ = 0.0;
};

}  // namespace

std::unique_ptr<Factorization> make_online_sgd(const SliceShape& shape, int rank,
                                               std::uint64_t seed) {
  return std::make_unique<OnlineSgd>(shape, rank, seed);
}

}  // namespace outlierd::baselines
