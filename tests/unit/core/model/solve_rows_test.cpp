// The kernel solve_rows, in both builds, against Eigen's Cholesky decomposition.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernels.h"
#include "core/model/packed.h"
#include "tests/support/naive_model.h"
#include "tests/support/random.h"
#include "tests/support/strided.h"

namespace outlierd::model {
namespace {

using test::expect_gaps_untouched;
using SolveRowsTest = test::KernelsTest;
using test::kUntouched;
using test::Random;
using test::Strided;

// n systems of one rank, packed, with gaps of NaN where nothing may be read.
struct Systems {
  int n, rank;
  std::vector<Eigen::MatrixXd> matrices;
  Strided precision, rhs;

  Systems(int n_in, int rank_in, Random& random)
      : n(n_in),
        rank(rank_in),
        precision(n_in, packed_size(rank_in), random.index(6), std::nan("")),
        rhs(n_in, rank_in, random.index(6), std::nan("")) {
    for (int i = 0; i < n; ++i) {
      set(i, test::random_covariance(rank, 10.0, 0.5, random));
      for (int r = 0; r < rank; ++r) rhs.at(i, r) = random.normal();
    }
  }
  void set(int i, const Eigen::MatrixXd& matrix) {
    if (i >= int(matrices.size())) matrices.resize(i + 1);
    matrices[i] = matrix;
    for (int r = 0; r < rank; ++r)
      for (int s = 0; s <= r; ++s) precision.at(i, packed_index(r, s)) = matrix(r, s);
  }
};

TEST_P(SolveRowsTest, IsEigensCholesky) {
  Random random(8);
  for (int n : {1, 2, 3, 4, 5, 8, 9, 70})
    for (int rank : {1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 63, 64}) {
      const Systems systems(n, rank, random);
      Strided mean(n, rank, random.index(6), kUntouched);
      Strided moment(n, packed_size(rank), random.index(6), kUntouched);
      ASSERT_TRUE(kernel_.solve_rows(n, rank, systems.precision.data(), systems.precision.ld,
                                     systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld,
                                     moment.data(), moment.ld));
      for (int i = 0; i < n; ++i) {
        const Eigen::LLT<Eigen::MatrixXd> cholesky(systems.matrices[i]);
        const Eigen::MatrixXd v = cholesky.solve(Eigen::MatrixXd::Identity(rank, rank));
        Eigen::VectorXd b(rank);
        for (int r = 0; r < rank; ++r) b(r) = systems.rhs.at(i, r);
        const Eigen::VectorXd a = cholesky.solve(b);
        // Condition numbers stay below 100, so twelve digits are left of sixteen.
        const double size = 1e-12 * (v.norm() * (1.0 + b.norm()) + a.squaredNorm());
        for (int r = 0; r < rank; ++r) {
          ASSERT_NEAR(mean.at(i, r), a(r), size) << "rank " << rank << ", row " << i << " of " << n;
          for (int s = 0; s <= r; ++s)
            ASSERT_NEAR(moment.at(i, packed_index(r, s)), v(r, s) + a(r) * a(s), size)
                << "rank " << rank << ", row " << i << " of " << n;
        }
      }
      expect_gaps_untouched(mean);
      expect_gaps_untouched(moment);
    }
}

TEST_P(SolveRowsTest, MayWriteTheMomentsOverThePrecisions) {
  Random random(9);
  for (int n : {1, 3, 4, 6, 9})
    for (int rank : {1, 4, 10}) {
      const Systems systems(n, rank, random);
      Strided mean(n, rank, 0, kUntouched), mean_in_place = mean;
      Strided moment(n, packed_size(rank), 0, kUntouched);
      Strided in_place = systems.precision;
      ASSERT_TRUE(kernel_.solve_rows(n, rank, systems.precision.data(), systems.precision.ld,
                                     systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld,
                                     moment.data(), moment.ld));
      ASSERT_TRUE(kernel_.solve_rows(n, rank, in_place.data(), in_place.ld, systems.rhs.data(),
                                     systems.rhs.ld, mean_in_place.data(), mean_in_place.ld,
                                     in_place.data(), in_place.ld));
      EXPECT_EQ(mean.cells, mean_in_place.cells);
      for (int i = 0; i < n; ++i)
        for (int p = 0; p < packed_size(rank); ++p)
          EXPECT_EQ(moment.at(i, p), in_place.at(i, p)) << "row " << i << " of " << n;
    }
}

// Parts of a mode go to different threads: a row's answer must not depend on its neighbours.
TEST_P(SolveRowsTest, GivesARowTheSameBitsInAnyCompany) {
  Random random(10);
  const int n = 11, rank = 6;
  const Systems systems(n, rank, random);
  Strided mean(n, rank, 0, 0.0), moment(n, packed_size(rank), 0, 0.0);
  ASSERT_TRUE(kernel_.solve_rows(n, rank, systems.precision.data(), systems.precision.ld,
                                 systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld,
                                 moment.data(), moment.ld));
  for (int i = 0; i < n; ++i) {
    std::vector<double> alone(rank), alone_moment(packed_size(rank));
    ASSERT_TRUE(kernel_.solve_rows(1, rank, &systems.precision.cells[i * systems.precision.ld],
                                   systems.precision.ld, &systems.rhs.cells[i * systems.rhs.ld],
                                   systems.rhs.ld, alone.data(), rank, alone_moment.data(),
                                   packed_size(rank)));
    for (int r = 0; r < rank; ++r) EXPECT_EQ(alone[r], mean.at(i, r));
    for (int p = 0; p < packed_size(rank); ++p) EXPECT_EQ(alone_moment[p], moment.at(i, p));
  }
}

bool solves(const Kernels& kernel, const Systems& systems) {
  Strided mean(systems.n, systems.rank, 0, 0.0);
  Strided moment(systems.n, packed_size(systems.rank), 0, 0.0);
  return kernel.solve_rows(systems.n, systems.rank, systems.precision.data(), systems.precision.ld,
                           systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld, moment.data(),
                           moment.ld);
}

TEST_P(SolveRowsTest, RefusesWhatIsNotPositiveDefiniteWhereverItStands) {
  Random random(11);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (int rank : {1, 2, 3, 7, 10, 64}) {
    const Eigen::MatrixXd good = test::random_covariance(rank, 10.0, 0.5, random);
    std::vector<std::pair<std::string, Eigen::MatrixXd>> bad;
    bad.emplace_back("zero", Eigen::MatrixXd::Zero(rank, rank));
    bad.emplace_back("negative", -good);
    bad.emplace_back("all NaN", Eigen::MatrixXd::Constant(rank, rank, nan));
    for (int r : {0, rank / 2, rank - 1})
      for (double value : {-1.0, nan, infinity, -infinity}) {
        Eigen::MatrixXd matrix = good;
        matrix(r, r) = value;
        bad.emplace_back("diagonal " + std::to_string(value), matrix);
      }
    if (rank > 1) {
      bad.emplace_back("singular", Eigen::MatrixXd::Ones(rank, rank));
      for (double value : {100.0, nan, infinity}) {  // 100 exceeds the diagonal: indefinite
        Eigen::MatrixXd matrix = good;
        matrix(rank - 1, 0) = matrix(0, rank - 1) = value;
        bad.emplace_back("off the diagonal " + std::to_string(value), matrix);
      }
    }
    for (int n : {1, 4, 5, 7}) {
      Systems systems(n, rank, random);
      ASSERT_TRUE(solves(kernel_, systems));
      for (const auto& [name, matrix] : bad)
        for (int at = 0; at < n; ++at) {
          const Eigen::MatrixXd kept = systems.matrices[at];
          systems.set(at, matrix);
          EXPECT_FALSE(solves(kernel_, systems)) << name << ", rank " << rank << ", at " << at;
          systems.set(at, kept);
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SolveRowsTest, test::both_kernels(), test::name_of_choice);

}  // namespace
}  // namespace outlierd::model
