#pragma once
// The model of docs/model.md, M3 to M9, by plain loops over cells: the oracle of the factorizer's
// tests. Written from the equations alone and sharing nothing with core/: full R x R covariances
// for every row, nothing packed, nothing cached, no thought for speed.
//
// Cells are numbered with the last index running fastest. The newest slice has weight 1 and is the
// only one with a sparse part; earlier slices are taken to have had theirs removed.

#include <Eigen/Dense>
#include <vector>

#include "tests/support/random.h"

namespace outlierd::test {

struct NaiveSlice {
  std::vector<double> values;
  std::vector<bool> mask;  // true where observed
  double weight = 1.0;     // w_t
};

struct NaiveModel {
  std::vector<int> sizes;                                 // I_1 .. I_N
  std::vector<Eigen::MatrixXd> means;                     // of each mode: I_n x R
  std::vector<std::vector<Eigen::MatrixXd>> covariances;  // of each row of each mode: R x R
  Eigen::MatrixXd time_means;                             // W x R, the oldest slice first
  std::vector<Eigen::MatrixXd> time_covariances;
  Eigen::VectorXd lambda;  // E[lambda_r]
  double tau = 1.0;        // E[tau]
  std::vector<NaiveSlice> window;

  // Of the newest slice, by cell; only observed cells have one.
  bool sparse = false;
  std::vector<double> S, sigma2, gamma;  // E[S], Var[S], E[gamma]

  // Shapes and rates of the Gamma priors: lambda ~ (c0, d0), tau ~ (at, bt), gamma ~ (a0, b0).
  double c0 = 1e-6, d0 = 1e-6, at = 1e-6, bt = 1e-6, a0 = 1.5, b0 = 0.5;

  void update_mode(int n);  // M3, every row of mode n
  void update_time();       // M4, every slice of the window
  void update_lambda();     // M5
  void update_sparse();     // M6
  void update_gamma();      // M7
  void update_tau();        // M8

  // M9: E_q[log p] - E_q[log q] of the weighted window, where q(lambda), q(tau) and q(gamma) are
  // Gamma with the shapes that M5, M7 and M8 give them and the means held here.
  double evidence_bound() const;

  int rank() const { return int(lambda.size()); }
  int slices() const { return int(window.size()); }
  int cells() const;
  int coordinate(int cell, int mode) const;

  double low_rank(int t, int cell) const;          // E[L_t]
  double low_rank_squares(int t, int cell) const;  // E[L_t^2]
  // E||Y_t - S_t - L_t||^2 on O_t, with Var[S] for the newest slice.
  double expected_error(int t) const;
  Eigen::MatrixXd second_moment(int mode, int row) const;  // E[a a']
  Eigen::MatrixXd time_moment(int t) const;                // E[c_t c_t']

  // The shapes of the Gamma posteriors; their rates are shape / mean.
  double lambda_shape() const;
  double tau_shape() const;
  double gamma_shape() const { return a0 + 0.5; }

  // Products over all modes, or all but `skipped`, of what belongs to a cell.
  static constexpr int kNone = -1;
  Eigen::VectorXd mean_product(int cell, int skipped = kNone) const;
  Eigen::MatrixXd moment_product(int cell, int skipped = kNone) const;

  bool newest(int t) const { return t + 1 == slices(); }
  // What the low-rank part is fitted to: Y - E[S] now, D_t before.
  double target(int t, int cell) const;
};

// A model in the middle of a fit: random means, random positive definite covariances, values of
// about the size of L plus noise, one slice for each entry of `missing` (the share of its cells
// that is not observed), weights forgetting^(T - t).
NaiveModel random_model(const std::vector<int>& sizes, int rank, double forgetting,
                        const std::vector<double>& missing, Random& random);
// Gives the newest slice a sparse part: a few outliers in the values, and random S, sigma2, gamma.
void add_random_sparse_part(NaiveModel& model, Random& random);

// Well conditioned (eigenvalues from `least` up) and positive definite.
Eigen::MatrixXd random_covariance(int rank, double scale, double least, Random& random);

}  // namespace outlierd::test
