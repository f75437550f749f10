#include "core/model/symmetric_eigen.h"

#include <Eigen/Eigenvalues>

namespace outlierd::model {
namespace {

template <class Matrix, class Vector>
bool solve(const Matrix& matrix, Vector& values, Matrix& vectors) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(matrix);
  if (solver.info() != Eigen::Success) return false;
  values = solver.eigenvalues();
  vectors = solver.eigenvectors();
  return true;
}

}  // namespace

bool symmetric_eigen(const Eigen::MatrixXd& matrix, Eigen::VectorXd& values,
                     Eigen::MatrixXd& vectors) {
  return solve(matrix, values, vectors);
}

bool symmetric_eigen(const Eigen::MatrixXf& matrix, Eigen::VectorXf& values,
                     Eigen::MatrixXf& vectors) {
  return solve(matrix, values, vectors);
}

}  // namespace outlierd::model
