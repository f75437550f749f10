// M9, the evidence bound, as a judge of M3 to M8: each update maximises it over one part of q, so
// it can never fall. These tests hold the oracle itself to that (tests/support/naive_model.h); the
// factorizer's own updates are held to it in sweep_bound_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/naive_model.h"
#include "tests/support/random.h"

namespace outlierd::test {
namespace {

struct Update {
  std::string name;
  std::function<void(NaiveModel&)> run;
};

std::vector<Update> sweep_of(const NaiveModel& model) {
  std::vector<Update> updates;
  for (int n = 0; n < int(model.sizes.size()); ++n)
    updates.push_back({"mode " + std::to_string(n), [n](NaiveModel& m) { m.update_mode(n); }});
  updates.push_back({"time", [](NaiveModel& m) { m.update_time(); }});
  updates.push_back({"lambda", [](NaiveModel& m) { m.update_lambda(); }});
  if (model.sparse) {
    updates.push_back({"sparse", [](NaiveModel& m) { m.update_sparse(); }});
    updates.push_back({"gamma", [](NaiveModel& m) { m.update_gamma(); }});
  }
  updates.push_back({"tau", [](NaiveModel& m) { m.update_tau(); }});
  return updates;
}

NaiveModel model_of(const std::vector<int>& sizes, bool sparse, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> missing;
  for (int t = 0; t < 4; ++t) missing.push_back(random.chance(0.3) ? 0.0 : 0.7 * random.uniform());
  NaiveModel model = random_model(sizes, 3, 0.9, missing, random);
  if (sparse) add_random_sparse_part(model, random);
  return model;
}

// Rounding error of a bound of a few hundred terms, each computed to 1e-15 of its size; the terms
// cancel at most a thousandfold.
double slack(double bound) { return 1e-10 * (1.0 + std::abs(bound)); }

struct Setting {
  std::string name;
  std::vector<int> sizes;
  bool sparse;
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class EvidenceBound : public testing::TestWithParam<Setting> {};

TEST_P(EvidenceBound, NeverFallsUnderAnySingleUpdate) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    NaiveModel model = model_of(GetParam().sizes, GetParam().sparse, seed);
    const std::vector<Update> updates = sweep_of(model);
    double bound = model.evidence_bound();
    for (int sweep = 0; sweep < 30; ++sweep)
      for (const Update& update : updates) {
        update.run(model);
        const double now = model.evidence_bound();
        ASSERT_TRUE(std::isfinite(now));
        ASSERT_GE(now, bound - slack(bound))
            << update.name << ", sweep " << sweep << ", seed " << seed;
        bound = now;
      }
  }
}

// Order does not matter to the argument, so it must not matter to the bound.
TEST_P(EvidenceBound, NeverFallsWhenTheUpdatesComeInRandomOrder) {
  for (std::uint64_t seed = 101; seed <= 110; ++seed) {
    NaiveModel model = model_of(GetParam().sizes, GetParam().sparse, seed);
    const std::vector<Update> updates = sweep_of(model);
    Random random(seed);
    double bound = model.evidence_bound();
    for (int step = 0; step < 100; ++step) {
      const Update& update = updates[random.index(int(updates.size()))];
      update.run(model);
      const double now = model.evidence_bound();
      ASSERT_GE(now, bound - slack(bound)) << update.name << ", step " << step << ", seed " << seed;
      bound = now;
    }
  }
}

// Not only no fall but the top: after an update, any other value of what it set is worse. A bound
// that lacked a term, or an update with a wrong count, would have its top elsewhere.
TEST_P(EvidenceBound, IsAtItsMaximumOverWhatWasJustUpdated) {
  using Change = std::function<void(NaiveModel&, double)>;
  const auto shift_first_row = [](Eigen::MatrixXd& means, double by) { means(0, 1) += by; };
  std::vector<std::pair<Update, std::vector<Change>>> pairs;
  for (int n = 0; n < int(GetParam().sizes.size()); ++n)
    pairs.push_back({{"mode", [n](NaiveModel& m) { m.update_mode(n); }},
                     {[=](NaiveModel& m, double by) { shift_first_row(m.means[n], by); },
                      [=](NaiveModel& m, double by) { m.covariances[n][0] *= 1.0 + by; },
                      [=](NaiveModel& m, double by) { m.covariances[n][0](2, 2) *= 1.0 + by; }}});
  pairs.push_back({{"time", [](NaiveModel& m) { m.update_time(); }},
                   {[=](NaiveModel& m, double by) { shift_first_row(m.time_means, by); },
                    [](NaiveModel& m, double by) { m.time_covariances[0] *= 1.0 + by; }}});
  pairs.push_back({{"lambda", [](NaiveModel& m) { m.update_lambda(); }},
                   {[](NaiveModel& m, double by) { m.lambda(1) *= 1.0 + by; }}});
  pairs.push_back({{"tau", [](NaiveModel& m) { m.update_tau(); }},
                   {[](NaiveModel& m, double by) { m.tau *= 1.0 + by; }}});
  if (GetParam().sparse) {
    const auto seen = [](const NaiveModel& m) {
      const std::vector<bool>& mask = m.window.back().mask;
      return std::find(mask.begin(), mask.end(), true) - mask.begin();
    };
    pairs.push_back({{"sparse", [](NaiveModel& m) { m.update_sparse(); }},
                     {[=](NaiveModel& m, double by) { m.S[seen(m)] += by; },
                      [=](NaiveModel& m, double by) { m.sigma2[seen(m)] *= 1.0 + by; }}});
    pairs.push_back({{"gamma", [](NaiveModel& m) { m.update_gamma(); }},
                     {[=](NaiveModel& m, double by) { m.gamma[seen(m)] *= 1.0 + by; }}});
  }

  for (std::uint64_t seed = 201; seed <= 205; ++seed)
    for (const auto& [update, changes] : pairs) {
      NaiveModel model = model_of(GetParam().sizes, GetParam().sparse, seed);
      update.run(model);
      const double top = model.evidence_bound();
      for (const Change& change : changes)
        for (double by : {-1e-2, -1e-3, 1e-3, 1e-2}) {
          NaiveModel other = model;
          change(other, by);
          EXPECT_LT(other.evidence_bound(), top)
              << update.name << ", by " << by << ", seed " << seed;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, EvidenceBound,
                         testing::Values(Setting{"TwoWay", {5, 6}, true},
                                         Setting{"ThreeWay", {4, 3, 3}, true},
                                         Setting{"TwoWayWithoutSparsePart", {5, 6}, false},
                                         Setting{"ThreeWayWithoutSparsePart", {4, 3, 3}, false}),
                         [](const auto& setting) { return setting.param.name; });

// Marsaglia and Tsang's method, for shape >= 1.
double gamma_draw(double shape, double rate, Random& random) {
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = random.normal(), v = std::pow(1.0 + c * x, 3);
    if (v > 0.0 && std::log1p(-random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return d * v / rate;
  }
}

double log_gamma_density(double x, double shape, double rate) {
  return shape * std::log(rate) - std::lgamma(shape) + (shape - 1.0) * std::log(x) - rate * x;
}

double log_normal_density(double x, double precision) {
  return 0.5 * std::log(precision / (2.0 * std::numbers::pi)) - 0.5 * precision * x * x;
}

// One draw of everything from q, and log p - log q there. Only M1 and M2 are used: no expectation
// is worked out by hand.
double log_ratio_of_a_draw(const NaiveModel& model, Random& random) {
  double ratio = 0.0;
  const int rank = model.rank();
  Eigen::VectorXd lambda(rank);
  for (int r = 0; r < rank; ++r) {
    const double rate = model.lambda_shape() / model.lambda(r);
    lambda(r) = gamma_draw(model.lambda_shape(), rate, random);
    ratio += log_gamma_density(lambda(r), model.c0, model.d0) -
             log_gamma_density(lambda(r), model.lambda_shape(), rate);
  }
  const double tau_rate = model.tau_shape() / model.tau;
  const double tau = gamma_draw(model.tau_shape(), tau_rate, random);
  ratio += log_gamma_density(tau, model.at, model.bt) -
           log_gamma_density(tau, model.tau_shape(), tau_rate);

  const auto draw_rows = [&](const Eigen::MatrixXd& means,
                             const std::vector<Eigen::MatrixXd>& covariances) {
    Eigen::MatrixXd rows(means.rows(), rank);
    for (int i = 0; i < int(means.rows()); ++i) {
      const Eigen::MatrixXd root = covariances[i].llt().matrixL();
      Eigen::VectorXd unit(rank);
      for (int r = 0; r < rank; ++r) unit(r) = random.normal();
      rows.row(i) = means.row(i) + (root * unit).transpose();
      for (int r = 0; r < rank; ++r)
        ratio += log_normal_density(rows(i, r), lambda(r)) - log_normal_density(unit(r), 1.0) +
                 std::log(root(r, r));
    }
    return rows;
  };
  std::vector<Eigen::MatrixXd> factors;
  for (std::size_t n = 0; n < model.sizes.size(); ++n)
    factors.push_back(draw_rows(model.means[n], model.covariances[n]));
  const Eigen::MatrixXd time = draw_rows(model.time_means, model.time_covariances);

  for (int t = 0; t < model.slices(); ++t)
    for (int cell = 0; cell < model.cells(); ++cell) {
      if (!model.window[t].mask[cell]) continue;
      Eigen::RowVectorXd product = time.row(t);
      for (std::size_t n = 0; n < factors.size(); ++n)
        product = product.cwiseProduct(factors[n].row(model.coordinate(cell, int(n)))).eval();
      double sparse = 0.0;
      if (model.sparse && model.newest(t)) {
        const double rate = model.gamma_shape() / model.gamma[cell];
        const double gamma = gamma_draw(model.gamma_shape(), rate, random);
        const double unit = random.normal(), spread = std::sqrt(model.sigma2[cell]);
        sparse = model.S[cell] + spread * unit;
        ratio += log_gamma_density(gamma, model.a0, model.b0) -
                 log_gamma_density(gamma, model.gamma_shape(), rate) +
                 log_normal_density(sparse, gamma) - log_normal_density(unit, 1.0) +
                 std::log(spread);
      }
      ratio += model.window[t].weight *
               log_normal_density(model.window[t].values[cell] - product.sum() - sparse, tau);
    }
  return ratio;
}

// The value itself, constants and all, against the definition of the bound.
TEST(EvidenceBoundValue, IsTheMeanOfLogPMinusLogQOverDrawsFromQ) {
  for (bool sparse : {true, false}) {
    NaiveModel model = model_of({3, 4}, sparse, 7);
    for (int sweep = 0; sweep < 5; ++sweep)
      for (const Update& update : sweep_of(model)) update.run(model);
    const double bound = model.evidence_bound();
    Random random(8);
    const int draws = 20000;
    double sum = 0.0, squares = 0.0;
    for (int draw = 0; draw < draws; ++draw) {
      const double offset = log_ratio_of_a_draw(model, random) - bound;
      sum += offset;
      squares += offset * offset;
    }
    const double mean = sum / draws;
    const double error = std::sqrt((squares / draws - mean * mean) / draws);
    EXPECT_LT(error, 0.1);  // or the test would say little
    EXPECT_LT(std::abs(mean), 4.0 * error) << "sparse " << sparse << ", standard error " << error;
  }
}

}  // namespace
}  // namespace outlierd::test
