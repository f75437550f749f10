#pragma once
// Eigenvalues, in increasing order, and eigenvectors (columns) of a symmetric matrix, of which the
// lower half is read. False when the iteration does not converge; the outputs are then worthless.
//
// Eigen's solver is a minute of compiling: it is in symmetric_eigen.cpp alone.

#include <Eigen/Core>

namespace outlierd::model {

[[nodiscard]] bool symmetric_eigen(const Eigen::MatrixXd& matrix, Eigen::VectorXd& values,
                                   Eigen::MatrixXd& vectors);
[[nodiscard]] bool symmetric_eigen(const Eigen::MatrixXf& matrix, Eigen::VectorXf& values,
                                   Eigen::MatrixXf& vectors);

}  // namespace outlierd::model
