#include "core/model/evidence.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>

namespace outlierd::model {
namespace {

const double kLogTwoPi = std::log(2.0 * std::numbers::pi);

// Recurrence up to 10, then the asymptotic series: error below 1e-13.
double digamma(double x) {
  double result = 0.0;
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  const double y = 1.0 / (x * x);
  return result + std::log(x) - 0.5 / x -
         y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
}

// ln Gamma(x), x > 0, as digamma(): std::lgamma writes to a global. Error below 1e-13.
double log_gamma(double x) {
  double factors = 0.0;
  for (; x < 10.0; x += 1.0) factors += std::log(x);
  const double y = 1.0 / (x * x);
  return (x - 0.5) * std::log(x) - x + 0.5 * kLogTwoPi - factors +
         (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188))))) / x;
}

// A Gamma posterior by its shape and its mean.
struct GammaBelief {
  double shape, rate;
  GammaBelief(double shape_in, double mean) : shape(shape_in), rate(shape_in / mean) {}
  double mean() const { return shape / rate; }
  double mean_log() const { return digamma(shape) - std::log(rate); }
  // E[ln p] under Ga(a, b) plus the entropy.
  double divergence_from(double a, double b) const {
    return a * std::log(b) - log_gamma(a) + (a - 1.0) * mean_log() - b * mean() + shape -
           std::log(rate) + log_gamma(shape) + (1.0 - shape) * digamma(shape);
  }
};

// E[ln p(a_i | lambda)] plus the entropy, over the rows of a factor.
double rows_term(const Posterior& q, const FactorRows& factor, int rows, double sum_log_lambda) {
  const int rank = q.rank;
  double total = 0.0;
  Eigen::MatrixXd v(rank, rank);
  for (int i = 0; i < rows; ++i) {
    const double* mean = factor.mean_of(i);
    const double* moment = factor.moment_of(i);
    double penalty = 0.0;
    for (int r = 0; r < rank; ++r) {
      penalty += q.lambda[r] * moment[packed_index(r, r)];
      for (int s = 0; s <= r; ++s)
        v(r, s) = v(s, r) = moment[packed_index(r, s)] - mean[r] * mean[s];
    }
    const Eigen::LLT<Eigen::MatrixXd> cholesky(v);
    double log_det = 0.0;
    for (int r = 0; r < rank; ++r) log_det += 2.0 * std::log(cholesky.matrixLLT()(r, r));
    total += 0.5 * (sum_log_lambda - penalty + log_det + rank);
  }
  return total;
}

}  // namespace

double evidence_bound(const Posterior& q, const WindowView& view, const MeanField& mean_field,
                      const SparseBelief& sparse) {
  const FactorRows& a = q.modes[0];
  std::vector<double> gram(std::size_t(a.moment_stride)), load(std::size_t(a.stride));
  double cells = 0.0, error = 0.0;
  for (int t = 0; t < view.size(); ++t) {
    const WindowSlice& slice = *view.slices[t];
    mean_field.summarize(q, slice, gram.data(), load.data());
    error += view.weights[t] * mean_field.expected_error(q, slice, t, gram.data(), load.data());
    cells += view.weights[t] * double(slice.observed);
  }

  const GammaBelief tau(kGammaPrior + 0.5 * cells, q.tau);
  double bound =
      0.5 * cells * (tau.mean_log() - kLogTwoPi) + tau.divergence_from(kGammaPrior, kGammaPrior);

  const double count = mean_field.component_count(view.size());
  double sum_log_lambda = 0.0;
  for (int r = 0; r < q.rank; ++r) {
    const GammaBelief lambda(kGammaPrior + count, q.lambda[r]);
    sum_log_lambda += lambda.mean_log();
    bound += lambda.divergence_from(kGammaPrior, kGammaPrior);
  }
  for (const FactorRows& mode : q.modes) bound += rows_term(q, mode, mode.rows, sum_log_lambda);
  bound += rows_term(q, q.time, view.size(), sum_log_lambda);

  for (std::size_t cell = 0; cell < sparse.cells.size(); ++cell) {
    if (sparse.gamma[cell] == 0.0) continue;
    const auto& [value, variance] = sparse.cells[cell];
    const GammaBelief gamma(sparse.a0 + 0.5, sparse.gamma[cell]);
    error += variance;
    bound += 0.5 * (gamma.mean_log() - gamma.mean() * (value * value + variance) +
                    std::log(variance) + 1.0) +
             gamma.divergence_from(sparse.a0, sparse.b0);
  }
  return bound - 0.5 * q.tau * error;
}

}  // namespace outlierd::model
