#pragma once
// What factorizations of two-way slices have in common: the observed cells of a slice, the weights
// of its components by ridge regression, random starts. Internal to core/baselines.

#include <Eigen/Core>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "core/traffic/slice.h"

namespace outlierd::baselines {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

struct ObservedCell {
  int row, column;
  double value;
};

inline std::vector<ObservedCell> observed_cells(const Slice& slice) {
  std::vector<ObservedCell> cells;
  const int columns = slice.shape[1];
  for (std::size_t cell = 0; cell < slice.values.size(); ++cell)
    if (slice.observed[cell])
      cells.push_back({int(cell) / columns, int(cell) % columns, slice.values[cell]});
  return cells;
}

// x of gram x = right, and the rows X of X gram = products.
Vector solved(const Matrix& gram, const Vector& right);
Matrix solved_rows(const Matrix& products, const Matrix& gram);

// c that minimises sum over cells of (y - sum_r c_r a_r b_r)^2 + ridge |c|^2.
Vector weights_of(const std::vector<ObservedCell>& cells, const Matrix& a, const Matrix& b,
                  double ridge);

// A diag(c) B', as Slice is laid out.
void reconstruct(const Matrix& a, const Vector& c, const Matrix& b, std::vector<double>& out);

// Independent standard normal numbers, the same on every machine.
inline Matrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::mt19937_64& engine) {
  const auto uniform = [&] { return (double(engine() >> 11) + 0.5) * 0x1p-53; };
  Matrix matrix(rows, columns);
  for (Eigen::Index k = 0; k < matrix.size(); ++k)
    matrix.data()[k] =
        std::sqrt(-2.0 * std::log(uniform())) * std::cos(2.0 * std::numbers::pi * uniform());
  return matrix;
}

inline bool finite(const std::vector<double>& values) {
  for (double value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

}  // namespace outlierd::baselines
