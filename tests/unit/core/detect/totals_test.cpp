#include "core/detect/totals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace outlierd {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

TEST(Totals, AreOfOneMetricAndOfTheCellsThatWereObserved) {
  SliceReport report;
  report.observed = {1, 10, 2, 20, kNone, 30, 4, 40};  // two metrics, four cells
  report.expected = {2, 11, 3, 21, 7, 31, kNone, 41};
  const SliceTotal bytes = total_of(report, 2, 0), packets = total_of(report, 2, 1);
  EXPECT_EQ(bytes.observed, 7.0);
  EXPECT_EQ(bytes.expected, 2.0 + 3.0 + 4.0) << "the last counts as observed";
  EXPECT_EQ(packets.observed, 100.0);
  EXPECT_EQ(packets.expected, 104.0);
  report.expected.assign(8, kNone);
  EXPECT_TRUE(std::isnan(total_of(report, 2, 0).expected));
  report.observed.assign(8, kNone);
  EXPECT_TRUE(std::isnan(total_of(report, 2, 0).observed));
}

TEST(Totals, TheBandIsThatOfTheSlicesBefore) {
  TotalBand band;
  for (std::size_t k = 0; k < TotalBand::kFewest; ++k)
    EXPECT_TRUE(std::isnan(band.next({k % 2 ? 110.0 : 100.0 / 1.1, 100.0}, 4.0).low)) << k;
  // Every one was off by a factor of 1.1: so is the median.
  const auto found = band.next({1000.0, 100.0}, 4.0);
  EXPECT_NEAR(found.high, 100.0 * std::pow(1.1, 4.0 * 1.4826), 1e-9);
  EXPECT_NEAR(found.low, 100.0 / std::pow(1.1, 4.0 * 1.4826), 1e-9);
  for (int k = 0; k < 11; ++k) band.next({1e9, 100.0}, 4.0);
  EXPECT_NEAR(band.next({100.0, 100.0}, 4.0).high, found.high, 1e-9) << "an event moves it little";
  band.next({kNone, 100.0}, 4.0);
  for (std::size_t k = 0; k < TotalBand::kSlices; ++k) band.next({200.0, 100.0}, 4.0);
  EXPECT_NEAR(band.next({100.0, 100.0}, 1.0).high, 100.0 * std::pow(2.0, 1.4826), 1e-9)
      << "what is older than a day is forgotten";
}

}  // namespace
}  // namespace outlierd
