#include "core/detect/sigma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace outlierd::detect {
namespace {

TEST(Sigma, IsWhatTablesOfTheNormalDistributionSay) {
  EXPECT_NEAR(sigma_of_tail(-std::log10(0.05)), 1.959964, 1e-5);
  EXPECT_NEAR(sigma_of_tail(-std::log10(0.0026998)), 3.0, 1e-4);
  EXPECT_NEAR(sigma_of_tail(-std::log10(5.733e-7)), 5.0, 1e-3);
  EXPECT_NEAR(tail_of_sigma(10.0), 22.8180, 1e-3);  // 2 (1 - Phi(10)) = 1.5240e-23
}

TEST(Sigma, GoesThereAndBack) {
  for (double tail : {0.01, 0.5, 1.0, 3.0, 10.0, 50.0, 170.0, 299.0})
    EXPECT_NEAR(tail_of_sigma(sigma_of_tail(tail)), tail, 1e-6 * (1.0 + tail));
}

TEST(Sigma, OfTheTableNeverFallsAndIsCloseToTheExactOne) {
  float before = 0.0f;
  for (double tail = 0.0; tail < 310.0; tail += 0.0371) {
    const float quick = quick_sigma_of_tail(float(tail));
    EXPECT_GE(quick, before);
    EXPECT_NEAR(quick, sigma_of_tail(tail), 2e-3) << tail;
    before = quick;
  }
  EXPECT_EQ(quick_sigma_of_tail(0.0f), 0.0f);
  EXPECT_EQ(quick_sigma_of_tail(std::nanf("")), 0.0f);
}

TEST(Sigma, OfManyIsThatOfEachWithItsSign) {
  const std::vector<float> tails = {0.0f, -1.3f, 2.7f, std::nanf(""), 299.9f, -400.0f, -0.0f};
  std::vector<float> sigmas(tails.size());
  quick_sigmas_of_tails(tails, sigmas.data());
  for (std::size_t i = 0; i < tails.size(); ++i) {
    if (std::isnan(tails[i])) {
      EXPECT_TRUE(std::isnan(sigmas[i]));
    } else {
      EXPECT_EQ(sigmas[i], std::copysign(quick_sigma_of_tail(std::abs(tails[i])), tails[i]));
    }
  }
}

}  // namespace
}  // namespace outlierd::detect
