#include "core/model/sparse.h"

#include <algorithm>
#include <cmath>

namespace outlierd::model {

OutlierRule::OutlierRule(double outlier_sigmas)
    : z_star_squared_(outlier_sigmas * outlier_sigmas),
      k_(std::pow((outlier_sigmas + 1.0 / outlier_sigmas) / 2.0, 2)) {}

SparseCell OutlierRule::sparse_part(double residual, double tau) const {
  if (!is_outlier(residual, tau)) return {};
  const double b = tau * residual * residual - 2.0 * k_ + 1.0;
  const double constant = k_ * (k_ - 1.0);
  // The smaller root, written without the difference of two nearly equal numbers. At z* itself the
  // discriminant is zero, and rounding may leave it just below.
  const double root = std::sqrt(std::max(0.0, b * b - 4.0 * constant));
  const double g = 2.0 * k_ / (b + root);
  return {residual / (1.0 + g), 1.0 / (tau * (1.0 + g))};
}

double OutlierRule::loss(double z_squared) const {
  if (z_squared < z_star_squared_) return 0.5 * z_squared;
  return 0.5 * z_star_squared_ + 0.5 * k_ * std::log(z_squared / z_star_squared_);
}

SparseCell sparse_part_given_precision(double residual, double tau, double gamma) {
  const double variance = 1.0 / (gamma + tau);
  return {variance * tau * residual, variance};
}

double sparse_precision(const SparseCell& cell, double a0, double b0) {
  return (a0 + 0.5) / (b0 + 0.5 * (cell.value * cell.value + cell.variance));
}

}  // namespace outlierd::model
