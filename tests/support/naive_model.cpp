#include "tests/support/naive_model.h"

#include <cmath>
#include <numbers>

namespace outlierd::test {
namespace {

// psi(x) for x > 0: psi(x) = psi(x + 1) - 1/x up to where the asymptotic series is exact to 1e-16.
double digamma(double x) {
  double below = 0.0;
  for (; x < 20.0; x += 1.0) below += 1.0 / x;
  const double y = 1.0 / (x * x);
  return std::log(x) - 0.5 / x -
         y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132)))) - below;
}

// E[log x] of a Gamma variable.
double mean_log(double shape, double rate) { return digamma(shape) - std::log(rate); }

// E_q[log p(x) - log q(x)] for p = Ga(prior_shape, prior_rate) and q = Ga(shape, rate).
double gamma_terms(double prior_shape, double prior_rate, double shape, double rate) {
  const double log_x = mean_log(shape, rate);
  const double log_p = prior_shape * std::log(prior_rate) - std::lgamma(prior_shape) +
                       (prior_shape - 1.0) * log_x - prior_rate * shape / rate;
  const double log_q = shape * std::log(rate) - std::lgamma(shape) + (shape - 1.0) * log_x - shape;
  return log_p - log_q;
}

double log_determinant(const Eigen::MatrixXd& positive) {
  return 2.0 * positive.llt().matrixLLT().diagonal().array().log().sum();
}

const double kLogTwoPi = std::log(2.0 * std::numbers::pi);

}  // namespace

int NaiveModel::cells() const {
  int product = 1;
  for (int size : sizes) product *= size;
  return product;
}

int NaiveModel::coordinate(int cell, int mode) const {
  for (int m = int(sizes.size()) - 1; m > mode; --m) cell /= sizes[m];
  return cell % sizes[mode];
}

Eigen::MatrixXd NaiveModel::second_moment(int mode, int row) const {
  const Eigen::VectorXd a = means[mode].row(row).transpose();
  return covariances[mode][row] + a * a.transpose();
}

Eigen::MatrixXd NaiveModel::time_moment(int t) const {
  const Eigen::VectorXd c = time_means.row(t).transpose();
  return time_covariances[t] + c * c.transpose();
}

Eigen::VectorXd NaiveModel::mean_product(int cell, int skipped) const {
  Eigen::VectorXd product = Eigen::VectorXd::Ones(rank());
  for (int m = 0; m < int(sizes.size()); ++m)
    if (m != skipped)
      product = product.cwiseProduct(means[m].row(coordinate(cell, m)).transpose()).eval();
  return product;
}

Eigen::MatrixXd NaiveModel::moment_product(int cell, int skipped) const {
  Eigen::MatrixXd product = Eigen::MatrixXd::Ones(rank(), rank());
  for (int m = 0; m < int(sizes.size()); ++m)
    if (m != skipped) product = product.cwiseProduct(second_moment(m, coordinate(cell, m))).eval();
  return product;
}

double NaiveModel::target(int t, int cell) const {
  return window[t].values[cell] - (sparse && newest(t) ? S[cell] : 0.0);
}

double NaiveModel::low_rank(int t, int cell) const {
  return mean_product(cell).dot(time_means.row(t).transpose());
}

// Factors are independent under q, so the moment of their product is the product of moments.
double NaiveModel::low_rank_squares(int t, int cell) const {
  return moment_product(cell).cwiseProduct(time_moment(t)).sum();
}

double NaiveModel::expected_error(int t) const {
  double error = 0.0;
  for (int cell = 0; cell < cells(); ++cell) {
    if (!window[t].mask[cell]) continue;
    const double d = target(t, cell);
    error += d * d - 2.0 * d * low_rank(t, cell) + low_rank_squares(t, cell);
    if (sparse && newest(t)) error += sigma2[cell];
  }
  return error;
}

void NaiveModel::update_mode(int n) {
  for (int i = 0; i < sizes[n]; ++i) {
    Eigen::MatrixXd precision = lambda.asDiagonal();
    Eigen::VectorXd load = Eigen::VectorXd::Zero(rank());
    for (int t = 0; t < slices(); ++t)
      for (int cell = 0; cell < cells(); ++cell) {
        if (!window[t].mask[cell] || coordinate(cell, n) != i) continue;
        const double weight = tau * window[t].weight;
        precision += weight * moment_product(cell, n).cwiseProduct(time_moment(t));
        load += weight * target(t, cell) *
                mean_product(cell, n).cwiseProduct(time_means.row(t).transpose());
      }
    covariances[n][i] = precision.llt().solve(Eigen::MatrixXd::Identity(rank(), rank()));
    means[n].row(i) = (covariances[n][i] * load).transpose();
  }
}

void NaiveModel::update_time() {
  for (int t = 0; t < slices(); ++t) {
    Eigen::MatrixXd precision = lambda.asDiagonal();
    Eigen::VectorXd load = Eigen::VectorXd::Zero(rank());
    for (int cell = 0; cell < cells(); ++cell) {
      if (!window[t].mask[cell]) continue;
      const double weight = tau * window[t].weight;
      precision += weight * moment_product(cell);
      load += weight * target(t, cell) * mean_product(cell);
    }
    time_covariances[t] = precision.llt().solve(Eigen::MatrixXd::Identity(rank(), rank()));
    time_means.row(t) = (time_covariances[t] * load).transpose();
  }
}

double NaiveModel::lambda_shape() const {
  double rows = slices();
  for (int size : sizes) rows += size;
  return c0 + 0.5 * rows;
}

void NaiveModel::update_lambda() {
  for (int r = 0; r < rank(); ++r) {
    double squares = 0.0;
    for (int n = 0; n < int(sizes.size()); ++n)
      for (int i = 0; i < sizes[n]; ++i) squares += second_moment(n, i)(r, r);
    for (int t = 0; t < slices(); ++t) squares += time_moment(t)(r, r);
    lambda(r) = lambda_shape() / (d0 + 0.5 * squares);
  }
}

void NaiveModel::update_sparse() {
  const int t = slices() - 1;
  for (int cell = 0; cell < cells(); ++cell) {
    if (!window[t].mask[cell]) continue;
    const double residual = window[t].values[cell] - low_rank(t, cell);
    sigma2[cell] = 1.0 / (gamma[cell] + tau);
    S[cell] = sigma2[cell] * tau * residual;
  }
}

void NaiveModel::update_gamma() {
  for (int cell = 0; cell < cells(); ++cell)
    if (window.back().mask[cell])
      gamma[cell] = gamma_shape() / (b0 + 0.5 * (S[cell] * S[cell] + sigma2[cell]));
}

double NaiveModel::tau_shape() const {
  double observed = 0.0;
  for (const NaiveSlice& slice : window)
    for (bool seen : slice.mask) observed += seen ? slice.weight : 0.0;
  return at + 0.5 * observed;
}

void NaiveModel::update_tau() {
  double error = 0.0;
  for (int t = 0; t < slices(); ++t) error += window[t].weight * expected_error(t);
  tau = tau_shape() / (bt + 0.5 * error);
}

double NaiveModel::evidence_bound() const {
  double bound = 0.0;

  // The likelihood: log N(y | L + S, 1/tau) of each observed cell, times the weight of its slice.
  const double tau_rate = tau_shape() / tau;
  const double log_tau = mean_log(tau_shape(), tau_rate);
  for (int t = 0; t < slices(); ++t) {
    double observed = 0.0;
    for (bool seen : window[t].mask) observed += seen;
    bound +=
        window[t].weight * (0.5 * observed * (log_tau - kLogTwoPi) - 0.5 * tau * expected_error(t));
  }
  bound += gamma_terms(at, bt, tau_shape(), tau_rate);

  // The factors: log N(a | 0, diag(lambda)^-1) and the entropy 1/2 log |2 pi e V| of each row. The
  // 2 pi of the two cancel.
  double log_lambda = 0.0;
  for (int r = 0; r < rank(); ++r) {
    const double rate = lambda_shape() / lambda(r);
    log_lambda += mean_log(lambda_shape(), rate);
    bound += gamma_terms(c0, d0, lambda_shape(), rate);
  }
  const auto row_terms = [&](const Eigen::MatrixXd& moment, const Eigen::MatrixXd& covariance) {
    return 0.5 *
           (log_lambda - lambda.dot(moment.diagonal()) + rank() + log_determinant(covariance));
  };
  for (int n = 0; n < int(sizes.size()); ++n)
    for (int i = 0; i < sizes[n]; ++i) bound += row_terms(second_moment(n, i), covariances[n][i]);
  for (int t = 0; t < slices(); ++t) bound += row_terms(time_moment(t), time_covariances[t]);

  // The sparse part: log N(s | 0, 1/gamma) and the entropy of each observed cell of the newest
  // slice.
  if (sparse)
    for (int cell = 0; cell < cells(); ++cell) {
      if (!window.back().mask[cell]) continue;
      const double rate = gamma_shape() / gamma[cell];
      bound +=
          0.5 * (mean_log(gamma_shape(), rate) - gamma[cell] * (S[cell] * S[cell] + sigma2[cell]) +
                 1.0 + std::log(sigma2[cell]));
      bound += gamma_terms(a0, b0, gamma_shape(), rate);
    }
  return bound;
}

Eigen::MatrixXd random_covariance(int rank, double scale, double least, Random& random) {
  Eigen::MatrixXd x(rank, rank);
  for (int r = 0; r < rank; ++r)
    for (int s = 0; s < rank; ++s) x(r, s) = random.normal();
  return scale / rank * x * x.transpose() + least * Eigen::MatrixXd::Identity(rank, rank);
}

NaiveModel random_model(const std::vector<int>& sizes, int rank, double forgetting,
                        const std::vector<double>& missing, Random& random) {
  const int slices = int(missing.size());
  NaiveModel model;
  model.sizes = sizes;
  const auto random_rows = [&](int rows, Eigen::MatrixXd& means,
                               std::vector<Eigen::MatrixXd>& covariances) {
    means.resize(rows, rank);
    for (int i = 0; i < rows; ++i) {
      for (int r = 0; r < rank; ++r) means(i, r) = random.normal();
      covariances.push_back(random_covariance(rank, 0.1, 0.01, random));
    }
  };
  model.means.resize(sizes.size());
  model.covariances.resize(sizes.size());
  for (std::size_t n = 0; n < sizes.size(); ++n)
    random_rows(sizes[n], model.means[n], model.covariances[n]);
  random_rows(slices, model.time_means, model.time_covariances);
  model.lambda.resize(rank);
  for (int r = 0; r < rank; ++r) model.lambda(r) = 0.2 + random.uniform();
  model.tau = 0.5 + random.uniform();

  model.window.resize(missing.size());
  for (int t = 0; t < slices; ++t) {
    NaiveSlice& slice = model.window[t];
    slice.weight = std::pow(forgetting, slices - 1 - t);
    for (int cell = 0; cell < model.cells(); ++cell) {
      slice.values.push_back(model.low_rank(t, cell) + random.normal());
      slice.mask.push_back(!random.chance(missing[t]));
    }
  }
  return model;
}

void add_random_sparse_part(NaiveModel& model, Random& random) {
  model.sparse = true;
  model.S.assign(model.cells(), 0.0);
  model.sigma2.assign(model.cells(), 0.0);
  model.gamma.assign(model.cells(), 0.0);
  for (int cell = 0; cell < model.cells(); ++cell) {
    if (!model.window.back().mask[cell]) continue;
    if (random.chance(0.2)) model.window.back().values[cell] += 10.0 * random.normal();
    model.S[cell] = random.normal();
    model.sigma2[cell] = 0.1 + random.uniform();
    model.gamma[cell] = 0.1 + random.uniform();
  }
}

}  // namespace outlierd::test
