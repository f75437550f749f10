#include "core/baselines/two_way.h"

#include <Eigen/Cholesky>

namespace outlierd::baselines {

Vector solved(const Matrix& gram, const Vector& right) { return gram.ldlt().solve(right); }

Matrix solved_rows(const Matrix& products, const Matrix& gram) {
  return gram.ldlt().solve(products.transpose()).transpose();
}

Vector weights_of(const std::vector<ObservedCell>& cells, const Matrix& a, const Matrix& b,
                  double ridge) {
  const Eigen::Index rank = a.cols();
  Matrix products(Eigen::Index(cells.size()), rank);
  Vector values(products.rows());
  for (Eigen::Index k = 0; k < products.rows(); ++k) {
    const ObservedCell& cell = cells[std::size_t(k)];
    products.row(k) = a.row(cell.row).cwiseProduct(b.row(cell.column));
    values(k) = cell.value;
  }
  Matrix gram = products.transpose() * products;
  gram.diagonal().array() += ridge;
  return gram.ldlt().solve(products.transpose() * values);
}

void reconstruct(const Matrix& a, const Vector& c, const Matrix& b, std::vector<double>& out) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> low_rank =
      a * c.asDiagonal() * b.transpose();
  out.assign(low_rank.data(), low_rank.data() + low_rank.size());
}

}  // namespace outlierd::baselines
