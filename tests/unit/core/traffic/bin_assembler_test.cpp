#include "core/traffic/bin_assembler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace outlierd {
namespace {

constexpr double kNone = MatrixPart::kNotObserved;
constexpr EpochSeconds kStart = 1'000'000'200;  // a multiple of 300
constexpr EpochSeconds kBin = 300, kLateness = 60;

Network two_nodes() { return {.name = "n", .nodes = {"A", "B"}}; }

MatrixPart dense(EpochSeconds time, std::vector<double> values) {
  MatrixPart part;
  part.time = time;
  part.values = std::move(values);
  return part;
}
MatrixPart keyed(EpochSeconds time, std::string source, std::uint64_t sequence, double value) {
  MatrixPart part = dense(time, {value, value, value, value});
  part.source = std::move(source);
  part.sequence = sequence;
  return part;
}
BinAssembler assembler(std::vector<std::string> sources = {}) {
  return BinAssembler(two_nodes(),
                      {.lateness_seconds = int(kLateness), .sources = std::move(sources)});
}
// As a slice reads: NaN where nothing was observed.
std::vector<double> cells(const Slice& slice) {
  std::vector<double> out = slice.values;
  for (std::size_t c = 0; c < out.size(); ++c)
    if (!slice.observed[c]) out[c] = kNone;
  return out;
}
void expect_cells(const Slice& slice, const std::vector<double>& expected) {
  const std::vector<double> found = cells(slice);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t c = 0; c < found.size(); ++c)
    if (std::isnan(expected[c])) {
      EXPECT_TRUE(std::isnan(found[c])) << c;
    } else {
      EXPECT_EQ(found[c], expected[c]) << c;
    }
}

TEST(BinAssembler, PartsAddUpAndNullPlusAValueIsTheValue) {
  BinAssembler bins = assembler();
  EXPECT_EQ(bins.add(dense(kStart, {1, kNone, kNone, 4}), 0), PartVerdict::kAdded);
  EXPECT_EQ(bins.add(dense(kStart, {2, 3, kNone, 0}), 0), PartVerdict::kAdded);
  const auto closed = bins.close_through(kStart);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].time, kStart);
  expect_cells(closed[0].slice, {3, 3, kNone, 4});
}

TEST(BinAssembler, RestMayBeZeroOrUnobserved) {
  MatrixPart part = dense(kStart, {5, kNone});
  part.sparse = true;
  part.pairs = {1, 2};
  BinAssembler bins = assembler();
  bins.add(part, 0);
  expect_cells(bins.close_through(kStart)[0].slice, {kNone, 5, kNone, kNone});
  part.time += kBin;
  part.rest_is_zero = true;
  bins.add(part, 0);
  expect_cells(bins.close_through(part.time)[0].slice, {0, 5, kNone, 0});
}

TEST(BinAssembler, TheSameSourceAndSequenceReplaces) {
  BinAssembler bins = assembler();
  EXPECT_EQ(bins.add(keyed(kStart, "c1", 7, 1), 0), PartVerdict::kAdded);
  EXPECT_EQ(bins.add(keyed(kStart, "c1", 7, 10), 0), PartVerdict::kReplaced);
  EXPECT_EQ(bins.add(keyed(kStart, "c2", 7, 100), 0), PartVerdict::kAdded);
  EXPECT_EQ(bins.add(keyed(kStart, "c1", 8, 1000), 0), PartVerdict::kAdded);
  expect_cells(bins.close_through(kStart)[0].slice, {1110, 1110, 1110, 1110});
}

TEST(BinAssembler, APartOfAClosedBinIsLateUnlessItIsInIt) {
  BinAssembler bins = assembler();
  bins.add(keyed(kStart, "c1", 7, 1), 0);
  bins.close_through(kStart);
  EXPECT_EQ(bins.add(keyed(kStart, "c1", 7, 1), 0), PartVerdict::kDuplicate);
  EXPECT_EQ(bins.add(keyed(kStart, "c1", 8, 1), 0), PartVerdict::kLate);
  EXPECT_EQ(bins.add(keyed(kStart, "c2", 7, 1), 0), PartVerdict::kLate);
  EXPECT_EQ(bins.add(keyed(kStart - kBin, "c1", 7, 1), 0), PartVerdict::kLate);
  EXPECT_EQ(bins.add(dense(kStart, {1, 1, 1, 1}), 0), PartVerdict::kLate);
}

TEST(BinAssembler, WhatIsInAClosedBinIsKnownAfterARestart) {
  BinAssembler bins = assembler();
  bins.add(keyed(kStart, "c1", 7, 1), 0);
  bins.close_through(kStart);
  BinAssembler again = assembler();
  again.restore(bins.memory());
  EXPECT_EQ(again.closed_through(), kStart);
  EXPECT_EQ(again.add(keyed(kStart, "c1", 7, 1), 0), PartVerdict::kDuplicate);
  EXPECT_EQ(again.add(keyed(kStart, "c1", 9, 1), 0), PartVerdict::kLate);
  EXPECT_EQ(again.add(keyed(kStart + kBin, "c1", 8, 1), 0), PartVerdict::kAdded);
}

TEST(BinAssembler, ClosesOnTheWatermarkAndNotASecondBefore) {
  BinAssembler bins = assembler();
  bins.add(keyed(kStart, "c1", 1, 1), kStart);
  EXPECT_EQ(bins.due(kStart), std::nullopt);
  // The next bin starts at this one's end, which is not yet end + lateness.
  bins.add(keyed(kStart + kBin, "c1", 2, 1), kStart);
  EXPECT_EQ(bins.due(kStart), std::nullopt);
  bins.add(keyed(kStart + 2 * kBin, "c1", 3, 1), kStart);
  EXPECT_EQ(bins.due(kStart), kStart);
}

TEST(BinAssembler, ALatenessOfZeroClosesWithTheNextBin) {
  BinAssembler bins(two_nodes(), {.lateness_seconds = 0, .sources = {}});
  bins.add(keyed(kStart, "c1", 1, 1), kStart);
  bins.add(keyed(kStart + kBin, "c1", 2, 1), kStart);
  EXPECT_EQ(bins.due(kStart), kStart);
}

TEST(BinAssembler, ClosesWhenQuietOnTheWallClock) {
  BinAssembler bins = assembler();
  const EpochSeconds arrival = kStart + kBin + 10;  // after its end
  bins.add(keyed(kStart, "c1", 1, 1), arrival);
  EXPECT_EQ(bins.quiet_at(), arrival + kLateness);
  EXPECT_EQ(bins.due(arrival + kLateness - 1), std::nullopt);
  EXPECT_EQ(bins.due(arrival + kLateness), kStart);
  // A part before the end: the lateness runs from the end.
  BinAssembler early = assembler();
  early.add(keyed(kStart, "c1", 1, 1), kStart + 5);
  EXPECT_EQ(early.quiet_at(), kStart + kBin + kLateness);
}

TEST(BinAssembler, AnyCompletePartClosesWhenNoSourceIsListed) {
  BinAssembler bins = assembler();
  MatrixPart part = keyed(kStart, "c1", 1, 1);
  part.complete = true;
  bins.add(part, kStart);
  EXPECT_EQ(bins.due(kStart), kStart);
}

TEST(BinAssembler, AllListedSourcesMustBeComplete) {
  BinAssembler bins = assembler({"c1", "c2"});
  MatrixPart part = keyed(kStart, "c1", 1, 1);
  part.complete = true;
  bins.add(part, kStart);
  part.source = "stranger";
  bins.add(part, kStart);
  EXPECT_EQ(bins.due(kStart), std::nullopt);
  part.source = "c2";
  bins.add(part, kStart);
  EXPECT_EQ(bins.due(kStart), kStart);
}

TEST(BinAssembler, ClosingABinClosesTheEarlierOnesInOrder) {
  BinAssembler bins = assembler();
  bins.add(keyed(kStart + 2 * kBin, "c1", 3, 3), 0);
  bins.add(keyed(kStart, "c1", 1, 1), 0);
  const auto closed = bins.close_through(kStart + 2 * kBin);
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0].time, kStart);
  EXPECT_EQ(closed[1].time, kStart + 2 * kBin);
  EXPECT_EQ(bins.open_bins(), 0u);
  EXPECT_EQ(bins.open_bytes(), 0u);
}

TEST(BinAssembler, OpenPartsAreBounded) {
  BinAssembler bins(two_nodes(), {.lateness_seconds = 60, .sources = {}, .max_open_bytes = 4096});
  PartVerdict verdict = PartVerdict::kAdded;
  std::uint64_t sequence = 0;
  while (verdict == PartVerdict::kAdded && sequence < 1000)
    verdict = bins.add(keyed(kStart, "c1", ++sequence, 1), 0);
  EXPECT_EQ(verdict, PartVerdict::kTooMuch);
  EXPECT_LE(bins.open_bytes(), 4096u);
  // Replacing needs no more room.
  EXPECT_EQ(bins.add(keyed(kStart, "c1", 1, 2), 0), PartVerdict::kReplaced);
}

TEST(BinAssembler, MetricsAreCellsOfTheirOwn) {
  Network network = two_nodes();
  network.metrics = {"bytes", "packets"};
  BinAssembler bins(network, {});
  MatrixPart part = keyed(kStart, "c1", 1, 8);
  bins.add(part, 0);
  part.metric = 1;
  part.values = {1, 2, 3, 4};
  EXPECT_EQ(bins.add(part, 0), PartVerdict::kAdded);
  expect_cells(bins.close_through(kStart)[0].slice, {8, 1, 8, 2, 8, 3, 8, 4});
}

}  // namespace
}  // namespace outlierd
