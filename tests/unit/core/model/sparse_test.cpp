// M10 against what it stands for: M6 and M7, written out here and iterated to their fixed point.

#include "core/model/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "tests/support/random.h"

namespace outlierd::model {
namespace {

double k_of(double z_star) { return std::pow((z_star + 1.0 / z_star) / 2.0, 2); }
double a0_of(double z_star) { return (k_of(z_star) - 1.0) / 2.0; }

constexpr double kAlmostNoRate = 1e-12;  // b0 -> 0

struct FixedPoint {
  double S, sigma2, gamma;
};

// M6 and M7 in turn, from a sparse part that is free to be as large as it likes (gamma small).
FixedPoint iterate(double r, double tau, double a0, double b0) {
  FixedPoint now{0.0, 0.0, 1e-9 * tau};
  for (int round = 0; round < 200000; ++round) {
    now.sigma2 = 1.0 / (now.gamma + tau);
    now.S = now.sigma2 * tau * r;
    const double gamma = (a0 + 0.5) / (b0 + 0.5 * (now.S * now.S + now.sigma2));
    if (std::abs(gamma - now.gamma) <= 1e-15 * gamma) break;
    now.gamma = gamma;
  }
  return now;
}

class OutlierRuleTest : public testing::TestWithParam<double> {
 protected:
  const double z_star_ = GetParam();
  const OutlierRule rule_{GetParam()};
};

// Below the threshold gamma runs away until b0 stops it, and S is nothing; above it stays finite.
TEST_P(OutlierRuleTest, ThresholdIsWhereTheIterationStopsLettingGo) {
  double low = 1.0, high = 20.0;
  while (high - low > 1e-4) {
    const double z = 0.5 * (low + high);
    (std::abs(iterate(z, 1.0, a0_of(z_star_), kAlmostNoRate).S) > 0.1 ? high : low) = z;
  }
  EXPECT_NEAR(high, z_star_, 1e-3);
  EXPECT_EQ(rule_.threshold_squares(), z_star_ * z_star_);
  EXPECT_FALSE(rule_.is_outlier(z_star_ - 1e-9, 1.0));
  EXPECT_TRUE(rule_.is_outlier(z_star_ + 1e-9, 1.0));
}

TEST_P(OutlierRuleTest, SparsePartIsTheFixedPointOfM6AndM7) {
  for (double beyond : {0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1e4})
    for (double tau : {1.0, 0.3, 40.0}) {
      const double r = (z_star_ + beyond) / std::sqrt(tau);
      const FixedPoint point = iterate(r, tau, a0_of(z_star_), kAlmostNoRate / tau);
      const SparseCell cell = rule_.sparse_part(r, tau);
      // At the threshold two roots meet: the iteration closes in slowly, and b0 shifts it by
      // b0 / sqrt(beyond).
      EXPECT_NEAR(cell.value, point.S, 1e-9 * r) << "beyond " << beyond << ", tau " << tau;
      EXPECT_NEAR(cell.variance, point.sigma2, 1e-9 / tau);
    }
}

TEST_P(OutlierRuleTest, BelowTheThresholdThereIsNoSparsePart) {
  for (double z = 0.0; z < z_star_; z += 0.01)
    for (double sign : {-1.0, 1.0}) {
      const SparseCell cell = rule_.sparse_part(sign * z, 1.0);
      EXPECT_EQ(cell.value, 0.0);
      EXPECT_EQ(cell.variance, 0.0);
    }
}

TEST_P(OutlierRuleTest, SparsePartLiesBetweenZeroAndTheResidualAndGrowsWithIt) {
  double last = 0.0;
  for (double z = z_star_; z < 1e6; z *= 1.01) {
    const SparseCell up = rule_.sparse_part(z, 1.0), down = rule_.sparse_part(-z, 1.0);
    ASSERT_GT(up.value, last);
    ASSERT_LT(up.value, z);
    ASSERT_EQ(down.value, -up.value);
    ASSERT_GT(up.variance, 0.0);
    ASSERT_LT(up.variance, 1.0);  // never more than the noise's
    ASSERT_EQ(down.variance, up.variance);
    last = up.value;
  }
}

// Powers of two change no bit of a mantissa, so neither may they change one of the answer.
TEST_P(OutlierRuleTest, UnitOfTheDataDoesNotMatter) {
  test::Random random(1);
  for (int draw = 0; draw < 1000; ++draw) {
    const double r = 2.0 * z_star_ * random.normal(), tau = 0.5 + random.uniform();
    const SparseCell cell = rule_.sparse_part(r, tau);
    for (int power : {-40, -13, 1, 20, 47}) {
      const double s = std::ldexp(1.0, power);
      const SparseCell scaled = rule_.sparse_part(s * r, tau / (s * s));
      ASSERT_EQ(scaled.value, s * cell.value);
      ASSERT_EQ(scaled.variance, s * s * cell.variance);
    }
    if (std::abs(tau * r * r - z_star_ * z_star_) < 1e-9) continue;  // rounding may decide
    for (double s : {1e-7, 3.0, 1e6}) {
      const SparseCell scaled = rule_.sparse_part(s * r, tau / (s * s));
      // g has a square-root edge at the threshold, which turns 1e-16 into at most 1e-8.
      ASSERT_NEAR(scaled.value, s * cell.value, 1e-8 * s * std::abs(r));
      ASSERT_EQ(scaled.value == 0.0, cell.value == 0.0);
    }
  }
}

TEST_P(OutlierRuleTest, ExtremeResidualsGiveFiniteOrAllOfTheResidual) {
  const double infinity = std::numeric_limits<double>::infinity();
  const SparseCell at_the_edge = rule_.sparse_part(z_star_, 1.0);
  EXPECT_TRUE(std::isfinite(at_the_edge.value));
  for (double r : {1e100, 1e200, std::numeric_limits<double>::max()}) {
    EXPECT_DOUBLE_EQ(rule_.sparse_part(r, 1.0).value, r);
    EXPECT_DOUBLE_EQ(rule_.sparse_part(r, 1.0).variance, 1.0);
  }
  EXPECT_EQ(rule_.sparse_part(infinity, 1.0).value, infinity);
  EXPECT_EQ(rule_.sparse_part(std::nan(""), 1.0).value, 0.0);  // no decision on what is no number
}

TEST_P(OutlierRuleTest, LossIsTheSquareThenTheLogarithmWithoutAJump) {
  const double edge = z_star_ * z_star_;
  EXPECT_NEAR(rule_.loss(edge * (1.0 - 1e-12)), rule_.loss(edge), 1e-10 * edge);
  EXPECT_EQ(rule_.loss(0.0), 0.0);
  EXPECT_DOUBLE_EQ(rule_.loss(0.25 * edge), 0.125 * edge);
  // k log z: a residual e times as large costs k more.
  const double far = 9.0 * edge;
  EXPECT_NEAR(rule_.loss(std::exp(2.0) * far) - rule_.loss(far), k_of(z_star_), 1e-12 * edge);
  double last = -1.0;
  for (double z = 0.0; z < 100.0 * z_star_; z += 0.01 * z_star_) {
    ASSERT_GT(rule_.loss(z * z), last) << z;
    last = rule_.loss(z * z);
  }
}

INSTANTIATE_TEST_SUITE_P(, OutlierRuleTest, testing::Values(2.4, 3.0, 4.0, 5.0));

TEST(OutlierRule, FourSigmasTakeAShapeOf1758Thousandths) {
  EXPECT_NEAR(a0_of(4.0), 1.758, 5e-4);  // MODEL.md gives three digits
  const FixedPoint outside = iterate(4.001, 1.0, 1.758, kAlmostNoRate);
  const FixedPoint inside = iterate(3.99, 1.0, 1.758, kAlmostNoRate);
  EXPECT_GT(outside.S, 1.0);
  EXPECT_LT(inside.S, 1e-6);
}

TEST(SparseSteps, AreM6AndM7) {
  test::Random random(2);
  for (int draw = 0; draw < 100; ++draw) {
    const double r = 5.0 * random.normal(), tau = 0.1 + random.uniform();
    const double gamma = 3.0 * random.uniform(), a0 = random.uniform(), b0 = random.uniform();
    const SparseCell cell = sparse_part_given_precision(r, tau, gamma);
    // S maximises -tau (r - S)^2 / 2 - gamma S^2 / 2: its slope is zero there.
    EXPECT_NEAR(tau * (r - cell.value) - gamma * cell.value, 0.0, 1e-14 * (1.0 + std::abs(r)));
    EXPECT_DOUBLE_EQ(1.0 / cell.variance, gamma + tau);
    const double square = cell.value * cell.value + cell.variance;
    EXPECT_DOUBLE_EQ(sparse_precision(cell, a0, b0) * (2.0 * b0 + square), 2.0 * a0 + 1.0);
  }
}

// With flat priors the printed rule calls one sigma an outlier (docs/model.md, section 2).
TEST(SparseSteps, WithFlatPriorsTheThresholdIsOneSigma) {
  for (double z : {0.5, 0.9, 1.1, 2.0, 10.0}) {
    SparseCell cell;
    double gamma = 1e-9;
    for (int round = 0; round < 20000; ++round) {
      cell = sparse_part_given_precision(z, 1.0, gamma);
      gamma = sparse_precision(cell, 0.0, 0.0);
    }
    if (z > 1.0) {
      EXPECT_NEAR(cell.value, z * (1.0 - 1.0 / (z * z)), 1e-9) << z;
    } else {
      EXPECT_LT(cell.value, 1e-3) << z;  // gamma grows by 1 - z^2 a round: S is still falling
    }
  }
}

}  // namespace
}  // namespace outlierd::model
