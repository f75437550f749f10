#include "core/traffic/flow_binner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/support/flows.h"
#include "tests/support/random.h"

namespace outlierd {
namespace {

using test::flow;
using test::four;
using test::Random;

constexpr std::int64_t kStart = 1'000'000'200'000;  // begin of a bin of five minutes, milliseconds
constexpr std::int64_t kBin = 300'000;
const IpAddress kRouter = four(192, 0, 2, 1);

std::shared_ptr<const NodeMap> three_nodes() {
  NodeRules rules;
  for (int k = 0; k < 3; ++k) rules.prefixes.push_back({four(10, k, 0, 0), 16, std::uint32_t(k)});
  return std::make_shared<const NodeMap>(rules);
}
FlowBinnerOptions options() {
  return {.nodes = 3, .metrics = {FlowMetric::kBytes, FlowMetric::kPackets, FlowMetric::kFlows}};
}
IpAddress in(int node) { return four(10, node, 1, 1); }
FlowHeader header(std::int64_t received = kStart) {
  return {.exporter = kRouter, .agent = {}, .received = received, .export_time = received};
}
double cell(const FlowHarvest& harvest, std::int64_t begin, int origin, int destination,
            int metric) {
  for (const BinTotals& bin : harvest.bins)
    if (bin.time * 1000 == begin)
      return bin.cells[std::size_t((origin * 3 + destination) * 3 + metric)];
  return -1.0;
}

TEST(FlowBinner, CountsBytesPacketsAndFlowsCorrectedForSampling) {
  FlowBinner binner(options(), three_nodes());
  FlowRecord record = flow(in(0), in(1), kStart, kStart + 1000);
  record.sampling_rate = 50;
  record.packets = 2;
  binner.add(header(), std::vector{record, record});
  const FlowHarvest harvest = binner.harvest();
  EXPECT_EQ(cell(harvest, kStart, 0, 1, 0), 10'000.0);
  EXPECT_EQ(cell(harvest, kStart, 0, 1, 1), 200.0);
  EXPECT_EQ(cell(harvest, kStart, 0, 1, 2), 2.0);
  EXPECT_EQ(cell(harvest, kStart, 1, 0, 0), 0.0);
  EXPECT_TRUE(binner.harvest().bins.empty());
}

TEST(FlowBinner, AFlowIsSpreadOverItsBinsInProportionToTime) {
  FlowBinner binner(options(), three_nodes());
  FlowRecord record = flow(in(0), in(1), kStart + kBin / 2, kStart + 3 * kBin);
  record.bytes = 250'000;
  binner.add(header(kStart + 3 * kBin), {&record, 1});
  const FlowHarvest harvest = binner.harvest();
  EXPECT_DOUBLE_EQ(cell(harvest, kStart, 0, 1, 0), 50'000.0);
  EXPECT_DOUBLE_EQ(cell(harvest, kStart + kBin, 0, 1, 0), 100'000.0);
  EXPECT_DOUBLE_EQ(cell(harvest, kStart + 2 * kBin, 0, 1, 0), 100'000.0);
}

TEST(FlowBinner, WhatLeavesTheNetworkIsNotCountedAgain) {
  FlowBinner binner(options(), three_nodes());
  FlowRecord record = flow(in(0), in(1), kStart, kStart);
  record.direction = FlowDirection::kEgress;
  binner.add(header(), {&record, 1});
  const FlowHarvest harvest = binner.harvest();
  EXPECT_TRUE(harvest.bins.empty());
  EXPECT_EQ(harvest.exporters.at(0).egress_records, 1u);
  FlowHeader probe = header();
  probe.count_egress = true;  // unless the exporter sees each packet only once
  FlowBinner all(options(), three_nodes());
  all.add(probe, {&record, 1});
  EXPECT_EQ(cell(all.harvest(), kStart, 0, 1, 0), 100.0);
}

TEST(FlowBinner, TheUnknownRateFollowsThePolicy) {
  FlowRecord unknown = flow(in(0), in(1), kStart, kStart), known = unknown;
  unknown.sampling_rate = 0;
  known.sampling_rate = 10;
  for (const UnknownRate policy :
       {UnknownRate::kReject, UnknownRate::kLastKnown, UnknownRate::kAssume}) {
    FlowBinnerOptions with = options();
    with.unknown_rate = policy;
    with.assumed_rate = 1000;
    FlowBinner binner(with, three_nodes());
    binner.add(header(), std::vector{unknown});
    binner.add(header(), std::vector{known});
    binner.harvest();  // what is known outlives it
    binner.add(header(), std::vector{unknown});
    const FlowHarvest harvest = binner.harvest();
    const double expected = policy == UnknownRate::kReject      ? -1.0
                            : policy == UnknownRate::kLastKnown ? 1000.0
                                                                : 100'000.0;
    EXPECT_EQ(cell(harvest, kStart, 0, 1, 0), expected);
    EXPECT_EQ(harvest.exporters.at(0).unknown_rate_records,
              policy == UnknownRate::kReject ? 1u : 0u);
  }
}

TEST(FlowBinner, UnmappedLateAndEarlyAreCountedByBytes) {
  FlowBinner binner(options(), three_nodes());
  binner.close_through(kStart / 1000);
  const std::int64_t now = kStart + kBin + 1000;
  FlowRecord half_late = flow(in(0), in(1), kStart + kBin - 500, kStart + kBin + 500);
  binner.add(header(now), std::vector{flow(four(11, 0, 0, 1), in(1), now, now),
                                      flow(in(0), in(1), kStart, kStart + 5),
                                      flow(in(0), in(1), now, now + 900'000), half_late});
  const FlowHarvest harvest = binner.harvest();
  const ExporterTally& tally = harvest.exporters.at(0);
  EXPECT_EQ(tally.records, 4u);
  EXPECT_EQ(tally.unmapped_bytes, 100.0);
  EXPECT_EQ(tally.late_bytes, 150.0);
  EXPECT_EQ(tally.early_bytes, 100.0);
  EXPECT_EQ(tally.bytes, 50.0);
  EXPECT_EQ(cell(harvest, kStart + kBin, 0, 1, 0), 50.0);
  EXPECT_EQ(harvest.bins.size(), 1u);
}

TEST(FlowBinner, AFlowThatClaimsFiftyYearsCostsNoMoreBinsThanAllowed) {
  FlowBinner binner(options(), three_nodes());
  const FlowRecord record = flow(in(0), in(1), 0, kStart);
  binner.add(header(), {&record, 1});
  const FlowHarvest harvest = binner.harvest();
  EXPECT_LE(harvest.bins.size(), options().most_bins);
  EXPECT_GT(harvest.exporters.at(0).late_bytes, 99.0);
}

TEST(FlowBinner, ManyExportersAreBounded) {
  FlowBinnerOptions few = options();
  few.most_exporters = 10;
  FlowBinner binner(few, three_nodes());
  for (std::uint32_t k = 0; k < 1000; ++k) {
    FlowHeader from = header();
    from.exporter = four(k);
    binner.add(from, std::vector{flow(in(0), in(1), kStart, kStart)});
  }
  const FlowHarvest harvest = binner.harvest();
  EXPECT_EQ(harvest.exporters.size(), 11u);
  EXPECT_EQ(harvest.exporters.back().records, 990u);
  EXPECT_EQ(cell(harvest, kStart, 0, 1, 0), 100'000.0);  // all of them count
}

// Agents behind one address, a reload between them, and addresses beyond the limit, which are
// counted together: each datagram goes by the rule of who made it.
TEST(FlowBinner, TheRuleIsThatOfTheDatagramsOwnAgentOrExporter) {
  NodeRules rules;
  rules.prefixes = {{four(10, 0, 0, 0), 8, 2}};
  for (std::uint32_t k = 0; k < 3; ++k)
    rules.exporters.push_back({four(198, 51, 100, int(k)), std::nullopt, k});
  const auto map = std::make_shared<const NodeMap>(rules);
  FlowBinnerOptions few = options();
  few.most_exporters = 1;
  for (const bool relay : {true, false}) {
    FlowBinner binner(few, map);
    for (int k = 0; k < 3; ++k) {
      FlowHeader from = header();
      (relay ? from.agent : from.exporter) = four(198, 51, 100, k);
      binner.add(from, std::vector{flow(in(0), in(1), kStart, kStart)});
      binner.use_map(map);
      binner.add(from, std::vector{flow(in(0), in(1), kStart, kStart)});
    }
    const FlowHarvest harvest = binner.harvest();
    for (int k = 0; k < 3; ++k) EXPECT_EQ(cell(harvest, kStart, k, 2, 0), 200.0) << k << relay;
  }
}

// Against a sum per millisecond's share, record by record.
TEST(FlowBinner, GivesTheSumsThatAddingByHandGives) {
  for (int seed = 1; seed <= 20; ++seed) {
    Random random{std::uint64_t(seed)};
    FlowBinner binner(options(), three_nodes());
    std::map<std::tuple<std::int64_t, int, int>, double> by_hand;
    const std::int64_t now = kStart + 4 * kBin;
    std::vector<FlowRecord> records;
    for (int k = 0; k < 500; ++k) {
      const int origin = random.index(3), destination = random.index(3);
      const std::int64_t end = kStart + std::int64_t(random.uniform() * 4 * double(kBin));
      const std::int64_t lasted =
          random.chance(0.3) ? 0 : random.index(random.chance(0.5) ? 5000 : 700'000);
      FlowRecord record = flow(in(origin), in(destination), std::max(kStart, end - lasted), end);
      record.bytes = std::uint64_t(random.index(100'000));
      record.sampling_rate = std::uint32_t(1 + random.index(10));
      records.push_back(record);
      const double bytes = double(record.bytes * record.sampling_rate);
      for (std::int64_t begin = kStart; begin < now; begin += kBin) {
        const double overlap =
            double(std::min(record.end, begin + kBin) - std::max(record.start, begin));
        const bool point = record.end == record.start;
        if (point && record.end >= begin && record.end < begin + kBin)
          by_hand[{begin, origin, destination}] += bytes;
        if (!point && overlap > 0)
          by_hand[{begin, origin, destination}] +=
              bytes * overlap / double(record.end - record.start);
      }
    }
    binner.add(header(now), records);
    const FlowHarvest harvest = binner.harvest();
    for (const auto& [key, bytes] : by_hand) {
      const auto& [begin, origin, destination] = key;
      // Rounding of shares: far less than a byte.
      EXPECT_NEAR(cell(harvest, begin, origin, destination, 0), bytes, 1e-3) << seed;
    }
    double all = 0.0, sent = 0.0;
    for (const BinTotals& bin : harvest.bins)
      for (std::size_t c = 0; c < bin.cells.size(); c += 3) all += bin.cells[c];
    for (const FlowRecord& record : records) sent += double(record.bytes * record.sampling_rate);
    EXPECT_NEAR(all, sent, 1e-2);
  }
}

TEST(ExporterClock, TheSoonestDatagramSaysHowFarTheClockIsOff) {
  ExporterClock clock;
  EXPECT_FALSE(clock.skew());
  Random random(3);
  std::int64_t now = kStart;
  for (int k = 0; k < 500; ++k, now += 100) clock.saw(now + 90'000 - random.index(400), now);
  EXPECT_NEAR(double(*clock.skew()), 90'000.0, 10.0);
  for (int k = 0; k < 3000; ++k, now += 100) clock.saw(now - random.index(400), now);  // set right
  EXPECT_NEAR(double(*clock.skew()), 0.0, 10.0);
}

TEST(Talkers, TheHeaviestOfACellAreFoundWithTheirUsualShare) {
  FlowBinner binner(options(), three_nodes());
  Random random(11);
  const auto traffic = [&](std::int64_t begin, bool attack) {
    for (int k = 0; k < 4000; ++k) {
      FlowRecord record = flow(four(10, 0, random.index(200), 1), in(1), begin, begin);
      record.bytes = 1000;
      record.protocol = 6;
      record.destination_port = 443;
      if (attack && k % 2 == 0) {
        record.source = four(10, 0, 77, 9);
        record.bytes = 3000;
        record.protocol = 17;
        record.source_port = 53;
        record.destination_port = std::uint16_t(random.index(60000));
      }
      binner.add(header(begin), {&record, 1});
    }
    return binner.harvest().talkers;
  };
  const std::vector<Talker> before = traffic(kStart, false), now = traffic(kStart + kBin, true);
  EXPECT_LE(now.size(), 512u);
  double stood_for = 0.0;
  for (const Talker& one : now) stood_for += one.bytes;
  EXPECT_NEAR(stood_for, 8e6, 0.02 * 8e6);  // one step of the sampler more or less
  std::vector<bool> pairs(9);
  pairs[1] = true;
  const Behind found = behind(now, before, pairs);
  EXPECT_EQ(found.time * 1000, kStart + kBin);
  ASSERT_GE(found.samples, 100u);
  // Half the records carry three quarters of the bytes; 5 standard errors of that many samples.
  const double near = 5.0 * std::sqrt(0.75 * 0.25 / double(found.samples));
  const auto top = [&](std::string_view name) {
    for (const TalkerDimension& one : found.dimensions)
      if (one.name == name) return one.top.at(0);
    return TalkerShare{};
  };
  EXPECT_EQ(top("source_prefix").what, "10.0.77.0/24");
  EXPECT_NEAR(top("source_prefix").share, 0.75, near);
  EXPECT_LT(top("source_prefix").usual, 0.05);
  EXPECT_EQ(top("protocol").what, "udp");
  EXPECT_EQ(top("protocol").usual, 0.0);
  EXPECT_EQ(top("source_port").what, "53");
  EXPECT_EQ(top("destination_prefix").what, "10.1.1.1");
  EXPECT_NEAR(top("destination_prefix").usual, 1.0, 1e-9);
  EXPECT_TRUE(top("source_as").what.empty());  // nobody gave one
}

}  // namespace
}  // namespace outlierd
