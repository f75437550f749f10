#pragma once
// The sparse part of one cell, given its residual: the repaired rule M10, and the printed M6-M7.

namespace outlierd::model {

// E[S] and Var[S] of one cell.
struct SparseCell {
  double value = 0.0;
  double variance = 0.0;
};

// M10: the stable finite fixed point of M6-M7 for the prior a0 = (k - 1) / 2, b0 -> 0.
//
//   k = ((z* + 1/z*) / 2)^2
//   tau r^2 >= z*^2:  b = tau r^2 - 2k + 1,  g = (b - sqrt(b^2 - 4 k (k - 1))) / (2 (k - 1)),
//                     S = r / (1 + g),  sigma2 = 1 / (tau (1 + g))
//   else S = 0, sigma2 = 0
//
// Invariant to the unit of the data: only tau r^2 decides.
class OutlierRule {
 public:
  explicit OutlierRule(double outlier_sigmas);

  // |r| from which a cell is an outlier, squared, in units of 1 / tau.
  double threshold_squares() const { return z_star_squared_; }
  bool is_outlier(double residual, double tau) const {
    return tau * residual * residual >= z_star_squared_;
  }
  SparseCell sparse_part(double residual, double tau) const;

  // What a residual costs once its sparse part is optimal: z^2 / 2 up to z*, then growing as
  // k log z, the tail of the prior. Orders two fits of one slice.
  double loss(double z_squared) const;

 private:
  double z_star_squared_;
  double k_;
};

// M6: S = sigma2 tau r, sigma2 = 1 / (gamma + tau).
SparseCell sparse_part_given_precision(double residual, double tau, double gamma);
// M7: gamma = (a0 + 1/2) / (b0 + 1/2 (S^2 + sigma2)).
double sparse_precision(const SparseCell& cell, double a0, double b0);

}  // namespace outlierd::model
