// One GEMM of n x n matrices, compiled for the instructions of the including file. Eigen is renamed
// there: its inline functions must not be shared with files compiled for other instructions.

#include <Eigen/Core>

namespace outlierd::bench {

double OUTLIERD_GEMM(int n, int times) {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Constant(n, n, 1.0 / n);
  Eigen::MatrixXd b = Eigen::MatrixXd::Identity(n, n), c(n, n);
  for (int k = 0; k < times; ++k) {
    c.noalias() = a * b;
    b.swap(c);
  }
  return b(0, 0);
}

}  // namespace outlierd::bench
