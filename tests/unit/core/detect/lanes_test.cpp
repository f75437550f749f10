// Four cells at once: each lane against the standard library's function of one number.

#include "core/detect/lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/random.h"

namespace outlierd::detect {
namespace {

TEST(Lanes, TouchEveryCellOfARangeOnceAndNoOther) {
  for (std::size_t begin : {0, 1, 3})
    for (std::size_t end = begin; end < begin + 11; ++end) {
      std::vector<float> column(16, 0.0f);
      std::vector<std::uint8_t> bytes(16, 7);
      for_lanes(begin, end, [&](auto at) {
        store(column.data(), at, load(column.data(), at) + splat(1.0f));
        store_bytes(bytes.data(), at, load_bytes(bytes.data(), at) + 241);
      });
      for (std::size_t cell = 0; cell < column.size(); ++cell) {
        const bool inside = cell >= begin && cell < end;
        EXPECT_EQ(column[cell], inside ? 1.0f : 0.0f) << begin << ' ' << end << ' ' << cell;
        EXPECT_EQ(bytes[cell], inside ? 248 : 7) << begin << ' ' << end << ' ' << cell;
      }
    }
}

TEST(Lanes, ChooseAsTheStandardLibraryDoes) {
  const std::array<float, 7> numbers = {-2.5f, -1.0f, -0.0f, 0.0f, 0.25f, 1.0f, 3.0f};
  for (float a : numbers)
    for (float b : numbers) {
      EXPECT_EQ(highest(splat(a), splat(b))[1], std::max(a, b));
      EXPECT_EQ(lowest(splat(a), splat(b))[2], std::min(a, b));
      EXPECT_EQ(clamped(splat(3.0f * a), splat(-1.0f), splat(1.0f))[3],
                std::clamp(3.0f * a, -1.0f, 1.0f));
      EXPECT_EQ(std::signbit(with_sign(splat(a), splat(b))[0]), std::signbit(b));
      EXPECT_EQ(with_sign(splat(a), splat(b))[0], std::copysign(a, b));
      EXPECT_EQ(magnitude(splat(a))[0], std::abs(a));
      EXPECT_EQ(bits_of(Lanes{a, b, a, b} > Lanes{b, a, b, a}),
                (a > b ? 5u : 0u) | (b > a ? 10u : 0u));
    }
}

TEST(Lanes, HalvesOfDoublesComeBackInOrder) {
  std::vector<double> column = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5};
  std::vector<double> sums(7, 0.0);
  const LaneMask mask = {-1, 0, 0, -1};
  for_lanes(0, 7, [&](auto at) {
    for (std::size_t half : {0, 1})
      store_half(sums.data(), at, half,
                 masked_half(load_half(column.data(), at, half), mask, half));
    const Lanes narrow = joined(load_half(column.data(), at, 0), load_half(column.data(), at, 1));
    EXPECT_EQ(half_of(narrow, 1)[0], at.count > 2 ? column[at.cell + 2] : 0.0);
  });
  EXPECT_EQ(sums, (std::vector<double>{1.5, 0.0, 0.0, 4.5, 5.5, 0.0, 0.0}));
}

TEST(Lanes, ExponentialIsWithinTwoUnitsInTheLastPlace) {
  test::Random random(1);
  for (int n = 0; n < 100000; ++n) {
    const float x = float(160.0 * random.uniform() - 80.0);
    const double exact = std::exp(double(x));
    EXPECT_NEAR(exponential(splat(x))[0], exact,
                2.0 * exact * double(std::numeric_limits<float>::epsilon()))
        << x;
  }
  EXPECT_EQ(exponential(Lanes{})[0], 1.0f);
}

}  // namespace
}  // namespace outlierd::detect
