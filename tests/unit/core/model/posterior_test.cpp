#include "core/model/posterior.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::Random;

const SliceShape kShape = {4, 3, 2};
constexpr int kWindow = 3;

Posterior random_posterior(int rank, int max_rank, Random& random) {
  Posterior q(kShape, kWindow, max_rank);
  q.rank = rank;
  const auto fill = [&](FactorRows& factor) {
    for (int i = 0; i < factor.rows; ++i) {
      for (int r = 0; r < rank; ++r) factor.mean_of(i)[r] = random.normal();
      for (int p = 0; p < packed_size(rank); ++p) factor.moment_of(i)[p] = random.normal();
    }
  };
  for (FactorRows& mode : q.modes) fill(mode);
  fill(q.time);
  for (int r = 0; r < rank; ++r) q.lambda[r] = random.uniform();
  return q;
}

// E[L_t] and E[L_t^2] of every cell of every slice: all that the factors say of the data. Only
// components from `only` are counted; all if it is empty.
std::vector<double> tensor(const Posterior& q, const std::vector<int>& only = {}) {
  std::vector<int> components = only;
  if (only.empty())
    for (int r = 0; r < q.rank; ++r) components.push_back(r);
  std::vector<double> cells;
  for (int t = 0; t < kWindow; ++t)
    for (int i = 0; i < kShape[0]; ++i)
      for (int j = 0; j < kShape[1]; ++j)
        for (int k = 0; k < kShape[2]; ++k) {
          const FactorRows* factors[] = {&q.modes[0], &q.modes[1], &q.modes[2], &q.time};
          const int rows[] = {i, j, k, t};
          double mean = 0.0, square = 0.0;
          for (int r : components) {
            double product = 1.0;
            for (int f = 0; f < 4; ++f) product *= factors[f]->mean_of(rows[f])[r];
            mean += product;
            for (int s : components) {
              double moment = 1.0;
              for (int f = 0; f < 4; ++f)
                moment *= factors[f]->moment_of(rows[f])[packed_index(r, s)];
              square += moment;
            }
          }
          cells.push_back(mean);
          cells.push_back(square);
        }
  return cells;
}

// Sums of at most 25 products of numbers of size 1, in another order.
void expect_same(const std::vector<double>& x, const std::vector<double>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], 1e-12 * (1.0 + std::abs(x[i])));
}

TEST(Posterior, SwappingComponentsChangesTheirOrderAndNothingElse) {
  Random random(1);
  for (int r = 0; r < 5; ++r)
    for (int s = 0; s < 5; ++s) {
      Posterior q = random_posterior(5, 7, random);
      const Posterior before = q;
      q.swap_components(r, s);
      expect_same(tensor(q), tensor(before));
      expect_same(tensor(q, {r}), tensor(before, {s}));
      EXPECT_EQ(q.lambda[r], before.lambda[s]);
      EXPECT_EQ(q.lambda[s], before.lambda[r]);
      q.swap_components(s, r);
      EXPECT_EQ(q.time.moment, before.time.moment);
      EXPECT_EQ(q.modes[1].mean, before.modes[1].mean);
    }
}

TEST(Posterior, DroppingAComponentLeavesTheOthers) {
  Random random(2);
  for (int dropped = 0; dropped < 4; ++dropped) {
    Posterior q = random_posterior(4, 6, random);
    std::vector<int> others;
    for (int r = 0; r < 4; ++r)
      if (r != dropped) others.push_back(r);
    const std::vector<double> left = tensor(q, others);
    double lambdas = 0.0;
    for (int r : others) lambdas += q.lambda[r];
    q.drop_component(dropped);
    EXPECT_EQ(q.rank, 3);
    expect_same(tensor(q), left);
    EXPECT_NEAR(q.lambda[0] + q.lambda[1] + q.lambda[2], lambdas, 1e-15 * 8);
    EXPECT_EQ(q.lambda[3], 1.0);
  }
}

TEST(Posterior, ADroppedComponentLeavesNothingBehind) {
  Random random(3);
  Posterior q = random_posterior(3, 3, random);
  for (int rank = 3; rank > 0; --rank) q.drop_component(0);
  EXPECT_EQ(q.rank, 0);
  for (const FactorRows* factor : {&q.modes[0], &q.modes[1], &q.modes[2], &q.time}) {
    for (double x : factor->mean) EXPECT_EQ(x, 0.0);
    for (double x : factor->moment) EXPECT_EQ(x, 0.0);
  }
}

TEST(Posterior, AnAddedComponentIsEmptyUntilItIsSet) {
  Random random(4);
  Posterior q = random_posterior(2, 3, random);
  const std::vector<double> before = tensor(q);
  ASSERT_TRUE(q.add_component());
  EXPECT_EQ(q.rank, 3);
  expect_same(tensor(q), before);
  EXPECT_FALSE(q.add_component());  // all in use
  EXPECT_EQ(q.rank, 3);
}

TEST(Posterior, AComponentAddedAfterADropIsEmptyToo) {
  Random random(5);
  Posterior q = random_posterior(3, 3, random);
  q.drop_component(1);
  const std::vector<double> before = tensor(q);
  ASSERT_TRUE(q.add_component());
  expect_same(tensor(q), before);
}

TEST(Posterior, StrengthIsTheNormOfTheComponentsTensor) {
  Random random(6);
  const Posterior q = random_posterior(3, 5, random);
  for (int r = 0; r < 3; ++r)
    for (int slices = 0; slices <= kWindow; ++slices) {
      const std::vector<double> cells = tensor(q, {r});
      double squares = 0.0;
      for (std::size_t i = 0; i < cells.size() / kWindow * slices; i += 2)
        squares += cells[i] * cells[i];
      EXPECT_NEAR(q.strength(r, slices), std::sqrt(squares), 1e-12);
    }
}

TEST(Posterior, RowsStartOnAVectorStep) {
  const Posterior q(kShape, kWindow, 3);
  EXPECT_EQ(q.time.stride % kColumnStep, 0);
  EXPECT_EQ(q.time.moment_stride % kColumnStep, 0);
  EXPECT_GE(q.time.moment_stride, packed_size(3));
  EXPECT_EQ(q.rank, 0);
}

TEST(Packed, IndexIsSymmetricAndTheLeadingBlockComesFirst) {
  int expected = 0;
  for (int r = 0; r < 12; ++r)
    for (int s = 0; s <= r; ++s) {
      EXPECT_EQ(packed_index(r, s), expected);
      EXPECT_EQ(packed_index(s, r), expected);
      ++expected;
    }
  EXPECT_EQ(packed_size(12), expected);
}

TEST(Packed, DotIsTheSumOverTheWholeMatrix) {
  Random random(7);
  for (int rank : {0, 1, 2, 5, 11}) {
    std::vector<double> a(packed_size(rank)), b(a.size());
    for (double& x : a) x = random.normal();
    for (double& x : b) x = random.normal();
    double sum = 0.0;
    for (int r = 0; r < rank; ++r)
      for (int s = 0; s < rank; ++s) sum += a[packed_index(r, s)] * b[packed_index(r, s)];
    EXPECT_NEAR(packed_dot(rank, a.data(), b.data()), sum, 1e-13);
  }
}

}  // namespace
}  // namespace outlierd::model
