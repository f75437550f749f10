#include "core/traffic/flow_bins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "tests/support/flows.h"

namespace outlierd {
namespace {

using test::flow;
using test::four;

constexpr EpochSeconds kStart = 1'000'000'200;  // begin of a bin
constexpr EpochSeconds kBin = 300;

struct Bench {
  explicit Bench(std::int64_t since = 0, NodeRules rules = {}) {
    for (int k = 0; k < 3; ++k) rules.prefixes.push_back({four(10, k, 0, 0), 16, std::uint32_t(k)});
    map = std::make_shared<const NodeMap>(rules);
    binner = std::make_unique<FlowBinner>(FlowBinnerOptions{.nodes = 3}, map);
    bins = std::make_unique<FlowBins>(
        FlowBinsOptions{.network = {.name = "n", .nodes = {"A", "B", "C"}},
                        .listening_since = since},
        map);
  }
  // A datagram at second `at` of an exporter that sees what enters at `node`.
  void datagram(int router, int node, EpochSeconds at, std::uint64_t lost = 0,
                EpochSeconds received = 0, std::uint32_t rate = 1, std::uint64_t found = 0) {
    FlowRecord record = flow(four(10, node, 0, 1), four(10, 2, 0, 1), at * 1000, at * 1000);
    record.sampling_rate = rate;
    const FlowHeader header{.exporter = four(192, 0, 2, router),
                            .agent = {},
                            .received = (received ? received : at) * 1000,
                            .export_time = at * 1000,
                            .lost_records = lost,
                            .found_records = found};
    binner->add(header, {&record, 1});
    now = header.received;
  }
  std::vector<FinishedBin> due(EpochSeconds extra = 0) {
    bins->add(binner->harvest(), now);
    return bins->due(now + extra * 1000);
  }
  int told(ExporterNews news) {  // since it was asked last
    for (const ExporterNotice& one : bins->take_notices()) ++notices[one.news];
    return std::exchange(notices[news], 0);
  }

  std::shared_ptr<const NodeMap> map;
  std::unique_ptr<FlowBinner> binner;
  std::unique_ptr<FlowBins> bins;
  std::int64_t now = 0;
  std::map<ExporterNews, int> notices;
};

double at(const FinishedBin& bin, int origin, int destination) {
  return bin.parts.at(0).values.at(std::size_t(origin * 3 + destination));
}

TEST(FlowBins, ABinIsOverWhenEveryExporterHasComePastItsEndAndLateness) {
  Bench bench;
  constexpr EpochSeconds kToday = kStart + 1'000'000;  // so that no wait is long enough
  for (EpochSeconds t = 0; t < kBin + 100; t += 5) {
    bench.datagram(1, 0, kStart + t, 0, kToday);
    bench.datagram(2, 1, kStart + std::min<EpochSeconds>(t, kBin + 55), 0, kToday);
    ASSERT_TRUE(bench.due().empty()) << t;  // the second has not come so far
  }
  bench.datagram(2, 1, kStart + kBin + 60, 0, kToday);
  const auto finished = bench.due();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].time, kStart);
  EXPECT_EQ(at(finished[0], 0, 2), 6000.0);
  EXPECT_EQ(at(finished[0], 1, 2), 6000.0);
  EXPECT_EQ(at(finished[0], 2, 2), 0.0);  // nobody sent anything there: a true zero
  EXPECT_TRUE(finished[0].parts[0].complete);
  EXPECT_EQ(finished[0].parts[0].source, "flows");
}

TEST(FlowBins, OneExporterWhoseClockIsAheadClosesNothingForTheOthers) {
  Bench bench;
  for (EpochSeconds t = 0; t < kBin; t += 5) {
    bench.datagram(1, 0, kStart + t);
    bench.datagram(2, 1, kStart + t + 290, 0, kStart + t);
    ASSERT_TRUE(bench.due().empty());
  }
}

TEST(FlowBins, OldDataIsNotLateAndClosesWhenItGoesQuiet) {
  Bench bench;
  constexpr EpochSeconds kToday = kStart + 50'000'000;
  for (EpochSeconds t = 0; t < 3 * kBin; t += 5) bench.datagram(1, 0, kStart + t, 0, kToday);
  auto finished = bench.due();
  ASSERT_EQ(finished.size(), 2u);  // the third may still grow
  EXPECT_EQ(at(finished[0], 0, 2), 6000.0);
  EXPECT_EQ(at(finished[1], 0, 2), 6000.0);
  EXPECT_TRUE(bench.due(59).empty());
  finished = bench.due(60);
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(at(finished[0], 0, 2), 6000.0);
}

TEST(FlowBins, TheRowsOfASilentExporterAreNotObservedAndSomebodyIsTold) {
  Bench bench;
  std::vector<FinishedBin> finished;
  bool told = false, back = false;
  for (EpochSeconds t = 0; t < 8 * kBin; t += 5) {
    bench.datagram(1, 0, kStart + t);
    if (t < 2 * kBin + 100 || t >= 5 * kBin) bench.datagram(2, 1, kStart + t);
    for (FinishedBin& one : bench.due()) finished.push_back(std::move(one));
    for (const ExporterNotice& notice : bench.bins->take_notices()) {
      told |= notice.news == ExporterNews::kSilent && notice.exporter == four(192, 0, 2, 2);
      back |= notice.news == ExporterNews::kBack;
      EXPECT_NE(notice.exporter == four(192, 0, 2, 1) && notice.news == ExporterNews::kSilent,
                true);
    }
  }
  ASSERT_GE(finished.size(), 6u);
  for (std::size_t k = 0; k < finished.size(); ++k) {
    EXPECT_EQ(at(finished[k], 0, 2), 6000.0) << k;  // the other is not touched
    if (k == 2 || k == 3 || k == 4) {
      EXPECT_TRUE(std::isnan(at(finished[k], 1, 2))) << k;
    } else {
      EXPECT_EQ(at(finished[k], 1, 2), 6000.0) << k;
    }
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(back);
}

TEST(FlowBins, AnExporterThatSpeaksRarelyIsNotSilent) {
  Bench bench;
  for (EpochSeconds t = 0; t < 10 * kBin; t += 5) {
    bench.datagram(1, 0, kStart + t);
    if (t % 240 == 0) bench.datagram(2, 1, kStart + t);
    for (const FinishedBin& one : bench.due())
      if (one.time > kStart) {
        EXPECT_FALSE(std::isnan(at(one, 1, 2))) << one.time - kStart;
      }
  }
}

TEST(FlowBins, MuchLossHidesTheRowsAndLittleDoesNot) {
  for (const std::uint64_t lost : {0, 1}) {
    Bench bench;
    int hidden = 0, bins = 0;
    for (EpochSeconds t = 0; t < 4 * kBin; t += 5) {
      const bool bad = t >= kBin && t < 2 * kBin;
      bench.datagram(1, 0, kStart + t, bad ? lost : 0);
      for (const FinishedBin& one : bench.due()) {
        ++bins;
        hidden += std::isnan(at(one, 0, 2));
        EXPECT_EQ(std::isnan(at(one, 0, 2)), lost > 0 && one.time == kStart + kBin);
      }
    }
    EXPECT_GE(bins, 2);
  }
}

// Each second datagram is overtaken by the one behind it.
TEST(FlowBins, WhatWasOvertakenIsNotLost) {
  Bench bench;
  int bins = 0;
  for (EpochSeconds t = 0; t < 4 * kBin; t += 5) {
    const bool bad = t >= kBin && t < 2 * kBin;
    bench.datagram(1, 0, kStart + t, bad && t % 10 == 0, 0, 1, bad && t % 10 == 5);
    for (const FinishedBin& one : bench.due()) {
      ++bins;
      EXPECT_EQ(at(one, 0, 2), 6000.0);
    }
  }
  EXPECT_GE(bins, 2);
  EXPECT_EQ(bench.told(ExporterNews::kLosing), 0);
}

TEST(FlowBins, ALastExporterThatFallsSilentIsToldWithoutAnyBin) {
  Bench bench;
  for (EpochSeconds t = 0; t < 2 * kBin; t += 5) {
    bench.datagram(1, 0, kStart + t);
    bench.due();
  }
  EXPECT_EQ(bench.told(ExporterNews::kSilent), 0);
  for (EpochSeconds later = 10; later < 2 * kBin; later += 10) bench.due(later);
  EXPECT_EQ(bench.told(ExporterNews::kSilent), 1);
  for (EpochSeconds t = 4 * kBin; t < 6 * kBin; t += 5) {
    bench.datagram(1, 0, kStart + t);
    bench.due();
  }
  EXPECT_EQ(bench.told(ExporterNews::kBack), 1);
  EXPECT_EQ(bench.told(ExporterNews::kSilent), 0);
}

TEST(FlowBins, RowsWhoseSamplingRateNobodySaysAreNotObserved) {
  Bench bench;
  std::vector<FinishedBin> finished;
  for (EpochSeconds t = 0; t < 8 * kBin; t += 5) {
    bench.datagram(1, 0, kStart + t);
    const bool known = t < 2 * kBin || t >= 4 * kBin;
    bench.datagram(2, 1, kStart + t, 0, 0, known ? 1 : 0);
    for (FinishedBin& one : bench.due()) finished.push_back(std::move(one));
  }
  ASSERT_GE(finished.size(), 6u);
  for (std::size_t k = 0; k < finished.size(); ++k) {
    EXPECT_EQ(at(finished[k], 0, 2), 6000.0) << k;
    if (k == 1 || k == 4) continue;  // next to it: may be hidden too
    EXPECT_EQ(std::isnan(at(finished[k], 1, 2)), k == 2 || k == 3) << k;
  }
  EXPECT_EQ(bench.told(ExporterNews::kUnknownRate), 1);
  EXPECT_EQ(bench.told(ExporterNews::kKnownRate), 1);
}

TEST(FlowBins, TrafficThatLosesItsNodeIsNotObservedAndNewUnmappedTrafficHidesNothing) {
  for (const bool lost : {true, false}) {
    Bench bench;
    std::vector<FinishedBin> finished;
    for (EpochSeconds t = 0; t < 4 * kBin; t += 5) {
      const bool odd = t >= 2 * kBin && t < 3 * kBin;
      bench.datagram(2, 1, kStart + t);
      if (!odd || !lost) bench.datagram(1, 0, kStart + t);
      if (odd) bench.datagram(1, 9, kStart + t);  // 10.9.0.1 is nobody's
      for (FinishedBin& one : bench.due()) finished.push_back(std::move(one));
    }
    ASSERT_GE(finished.size(), 3u);
    for (std::size_t k = 0; k < finished.size(); ++k)
      EXPECT_EQ(std::isnan(at(finished[k], 0, 2)), lost && k == 2) << lost << k;
    EXPECT_EQ(bench.told(ExporterNews::kUnmapped), 1);
  }
}

TEST(FlowBins, ANodeWhoseExporterNeverSpokeIsNotObserved) {
  NodeRules rules;
  rules.exporters = {{four(192, 0, 2, 1), {}, 0}, {four(192, 0, 2, 2), {}, 1}};
  Bench bench(0, rules);
  for (EpochSeconds t = 0; t <= kBin + 60; t += 5) bench.datagram(1, 0, kStart + t);
  const auto finished = bench.due();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(at(finished[0], 0, 2), 6000.0);
  EXPECT_TRUE(std::isnan(at(finished[0], 1, 2)));
  EXPECT_EQ(at(finished[0], 2, 2), 0.0);
}

TEST(FlowBins, TheBinThatRanWhenListeningBeganIsNotObserved) {
  Bench bench((kStart + 100) * 1000);
  std::vector<FinishedBin> finished;
  for (EpochSeconds t = 100; t <= 2 * kBin + 60; t += 5) {
    bench.datagram(1, 0, kStart + t);
    for (FinishedBin& one : bench.due()) finished.push_back(std::move(one));
  }
  ASSERT_EQ(finished.size(), 2u);
  EXPECT_TRUE(std::isnan(at(finished[0], 0, 2)));
  EXPECT_EQ(at(finished[1], 0, 2), 6000.0);
}

TEST(FlowBins, AShortRestartLosesNothingAndALongOneHidesTheBin) {
  for (const EpochSeconds pause : {3, 60}) {
    Bench before;
    for (EpochSeconds t = 0; t < 100; t += 5) before.datagram(1, 0, kStart + t);
    EXPECT_TRUE(before.due().empty());
    EXPECT_TRUE(before.bins->flush(before.now).empty());  // it still runs
    const auto saved = before.bins->save(before.now);
    Bench after(before.now + pause * 1000);
    EXPECT_EQ(after.bins->restore(saved, before.now + pause * 1000), pause == 3);
    for (EpochSeconds t = 100; t <= kBin + 60; t += 5) after.datagram(1, 0, kStart + t);
    const auto finished = after.due();
    ASSERT_EQ(finished.size(), 1u);
    if (pause == 3) {
      EXPECT_EQ(at(finished[0], 0, 2), 6000.0);
    } else {
      EXPECT_TRUE(std::isnan(at(finished[0], 0, 2)));
    }
  }
}

TEST(FlowBins, SavedBytesThatAreDamagedAreRefused) {
  Bench bench;
  bench.datagram(1, 0, kStart);
  bench.due();
  const auto saved = bench.bins->save(bench.now);
  for (std::size_t k = 0; k < saved.size(); k += 7) {
    auto damaged = saved;
    damaged[k] ^= std::byte{1};
    EXPECT_FALSE(Bench().bins->restore(damaged, bench.now)) << k;
    EXPECT_FALSE(Bench().bins->restore(std::span(saved).first(k), bench.now)) << k;
  }
  EXPECT_TRUE(Bench().bins->restore(saved, bench.now));
}

TEST(FlowBins, WhatComesForAClosedBinIsCounted) {
  Bench bench;
  bench.bins->close_through(kStart);
  bench.datagram(1, 0, kStart + 10);
  EXPECT_TRUE(bench.due(1000).empty());
  EXPECT_EQ(bench.bins->counts().late_records, 1u);
}

}  // namespace
}  // namespace outlierd
