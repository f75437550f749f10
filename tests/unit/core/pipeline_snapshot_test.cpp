// The state of a pipeline as bytes: a stream cut anywhere goes on bit for bit, damage is a reason,
// and nodes may come and go.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "core/byte_stream.h"
#include "core/pipeline.h"
#include "tests/support/traffic.h"

namespace outlierd {
namespace {

using test::SimulatedTraffic;
using test::small_network;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kHeaderBytes = 28;  // magic, version, length, checksum

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_same(const SliceReport& a, const SliceReport& b) {
  EXPECT_TRUE(same(a.score, b.score));
  EXPECT_TRUE(same(a.expected, b.expected));
  EXPECT_TRUE(same(a.low, b.low));
  EXPECT_TRUE(same(a.high, b.high));
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.warmup, b.warmup);
  EXPECT_EQ(a.model.rank, b.model.rank);
  ASSERT_EQ(a.pending.size(), b.pending.size());
  for (std::size_t i = 0; i < a.pending.size(); ++i) {
    EXPECT_EQ(a.pending[i].id, b.pending[i].id);
    EXPECT_EQ(a.pending[i].since, b.pending[i].since);
  }
  ASSERT_EQ(a.events.size(), b.events.size());
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    EXPECT_EQ(a.events[i].event.id, b.events[i].event.id);
    EXPECT_EQ(a.events[i].event.summary, b.events[i].event.summary);
    EXPECT_EQ(a.events[i].event.since, b.events[i].event.since);
    EXPECT_EQ(a.events[i].event.excess, b.events[i].event.excess);
  }
}

// One pair is six times too large from `bin` on, so that an event is open.
Slice slice_with_spike(SimulatedTraffic& traffic, const Network& network, bool spike) {
  Slice slice = traffic.next();
  if (spike) slice.values[network.cell(1, 2)] *= 6.0;
  return slice;
}

Pipeline warm_pipeline(const Network& network, int bins, SimulatedTraffic& traffic) {
  Pipeline pipeline(network, {});
  for (int bin = 0; bin < bins; ++bin)
    pipeline.process(slice_with_spike(traffic, network, bin >= bins - 2), traffic.time(bin));
  return pipeline;
}

// With the checksum made right again, so that the damage is met behind it.
Bytes resealed(Bytes bytes) {
  const std::uint64_t checksum = crc64(std::span<const std::byte>(bytes).subspan(kHeaderBytes));
  for (std::size_t i = 0; i < 8; ++i) bytes[20 + i] = std::byte(checksum >> (8 * i) & 0xff);
  return bytes;
}

TEST(PipelineSnapshot, AStreamCutAnywhereGoesOnBitForBit) {
  for (int metrics : {1, 2})
    for (int cut : {0, 1, 15, 21, 133, 700}) {
      const Network network = small_network(5, metrics);
      SimulatedTraffic traffic(network, 3);
      Pipeline whole(network, {});
      for (int bin = 0; bin < cut; ++bin)
        whole.process(slice_with_spike(traffic, network, bin == cut - 1), traffic.time(bin));
      const Bytes bytes = whole.save();
      auto resumed = Pipeline::restore(bytes, network, {});
      ASSERT_TRUE(resumed) << resumed.error();
      EXPECT_TRUE(resumed->save() == bytes);
      EXPECT_EQ(resumed->last_time(), whole.last_time());
      EXPECT_EQ(resumed->open_events().size(), whole.open_events().size());
      for (int bin = cut; bin < cut + 40; ++bin) {
        const Slice slice = slice_with_spike(traffic, network, bin == cut + 20);
        expect_same(whole.process(slice, traffic.time(bin)),
                    resumed->process(slice, traffic.time(bin)));
      }
      EXPECT_TRUE(resumed->save() == whole.save());
    }
}

TEST(PipelineSnapshot, CutShortOrDamagedIsAReason) {
  const Network network = small_network(4);
  SimulatedTraffic traffic(network, 3);
  const Bytes bytes = warm_pipeline(network, 300, traffic).save();
  for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 7)
    EXPECT_FALSE(Pipeline::restore(std::span(bytes).first(length), network, {}));
  test::Random random(5);
  for (int n = 0; n < 300; ++n) {
    Bytes damaged = bytes;
    damaged[std::size_t(random.index(int(bytes.size())))] ^= std::byte(1 << random.index(8));
    EXPECT_FALSE(Pipeline::restore(damaged, network, {}));
  }
}

TEST(PipelineSnapshot, AnyBytesUnderARightChecksumGiveAPipelineThatWorksOrAReason) {
  const Network network = small_network(4);
  SimulatedTraffic traffic(network, 3);
  const Bytes bytes = warm_pipeline(network, 300, traffic).save();
  Network other = network;
  other.nodes = {"N2", "new", "N0"};
  test::Random random(6);
  int taken = 0;
  for (int n = 0; n < 400; ++n) {
    Bytes damaged = bytes;
    const int flips = 1 + random.index(3);
    for (int k = 0; k < flips; ++k)
      damaged[kHeaderBytes + std::size_t(random.index(int(bytes.size() - kHeaderBytes)))] =
          std::byte(random.index(256));
    const Network& wanted = n % 2 ? other : network;
    auto restored = Pipeline::restore(resealed(damaged), wanted, {});
    if (!restored) continue;
    ++taken;
    for (int bin = 1; bin < 8; ++bin) {
      Slice slice(wanted.shape());
      for (std::size_t cell = 0; cell < slice.values.size(); ++cell) slice.set(cell, 100.0);
      const EpochSeconds last = restored->last_time();
      if (last > EpochSeconds{1} << 40) break;
      restored->process(slice, std::max<EpochSeconds>(last, 0) + 300);
    }
    restored->save();
  }
  EXPECT_GT(taken, 50);  // most flips hit a number, not the structure
}

TEST(PipelineSnapshot, NodesInBothKeepWhatWasLearned) {
  const Network network = small_network(6);
  SimulatedTraffic traffic(network, 3);
  Pipeline before = warm_pipeline(network, 800, traffic);
  const std::string id = before.open_events().at(0).id;
  Network changed = network;
  changed.nodes = {"N5", "fresh", "N1", "N2", "N0"};  // N3 and N4 gone, the order another
  auto after = Pipeline::restore(before.save(), changed, {});
  ASSERT_TRUE(after) << after.error();
  EXPECT_EQ(after->open_events().at(0).id, id);

  const Slice slice = traffic.next();
  const std::vector<int> from = {5, -1, 1, 2, 0};
  Slice turned(changed.shape());
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j)
      turned.set(changed.cell(i, j),
                 from[i] < 0 || from[j] < 0 ? 1.0 : slice.values[network.cell(from[i], from[j])]);
  const SliceReport old_report = before.process(slice, traffic.time(800));
  const SliceReport new_report = after->process(turned, traffic.time(800));
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      if (i == j) continue;
      const float expected = new_report.expected[changed.cell(i, j)];
      if (from[i] < 0 || from[j] < 0) {
        EXPECT_TRUE(std::isnan(new_report.score[changed.cell(i, j)]));
        continue;
      }
      // Fewer cells to find c_t from, so not the same to the last digit.
      const float was = old_report.expected[network.cell(from[i], from[j])];
      EXPECT_NEAR(expected, was, 0.15f * was);
      EXPECT_FALSE(std::isnan(new_report.score[changed.cell(i, j)]));
    }
}

TEST(PipelineSnapshot, MetricsMayComeAndGoAndAllNodesMayBeNew) {
  const Network network = small_network(4);
  SimulatedTraffic traffic(network, 3);
  const Bytes bytes = warm_pipeline(network, 400, traffic).save();
  Network more = network, strange = network;
  more.metrics = {"bytes", "packets"};
  strange.nodes = {"a", "b", "c"};
  for (const Network& wanted : {more, strange}) {
    auto restored = Pipeline::restore(bytes, wanted, {});
    ASSERT_TRUE(restored) << restored.error();
    SimulatedTraffic next(wanted, 4);
    for (int bin = 0; bin < 100; ++bin) restored->process(next.next(), traffic.time(400 + bin));
    auto again = Pipeline::restore(restored->save(), wanted, {});
    ASSERT_TRUE(again) << again.error();
  }
}

TEST(PipelineSnapshot, ANewBudgetIsInForceAtOnceAndAnotherRankLosesOnlyTheFactors) {
  const Network network = small_network(4);
  SimulatedTraffic traffic(network, 3);
  Pipeline before = warm_pipeline(network, 700, traffic);
  PipelineOptions options;
  options.detection.false_alarms_per_day = 10.0;
  options.model.max_rank = 2;
  auto after = Pipeline::restore(before.save(), network, options);
  ASSERT_TRUE(after) << after.error();
  const Slice slice = traffic.next();
  const SliceReport old_report = before.process(slice, traffic.time(700));
  const SliceReport new_report = after->process(slice, traffic.time(700));
  EXPECT_LT(new_report.threshold, old_report.threshold);
  const std::size_t cell = network.cell(0, 1);
  EXPECT_NEAR(new_report.expected[cell], old_report.expected[cell],
              0.2f * old_report.expected[cell]);
}

// Written by the program of version 2 after 1200 bins of this traffic.
TEST(PipelineSnapshot, OneOfTheVersionBeforeIsRead) {
  const Network network = small_network(3);
  std::ifstream file(OUTLIERD_SAVED_STATES "/pipeline_version_2.snapshot", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  Bytes older(text.size());
  std::memcpy(older.data(), text.data(), text.size());
  auto resumed = Pipeline::restore(older, network, {});
  ASSERT_TRUE(resumed) << resumed.error();

  SimulatedTraffic traffic(network, 3);
  Pipeline anew(network, {});
  for (int bin = 0; bin < 1200; ++bin) anew.process(traffic.next(), traffic.time(bin));
  const Slice slice = traffic.next();
  const SliceReport after = resumed->process(slice, traffic.time(1200));
  const SliceReport same_past = anew.process(slice, traffic.time(1200));
  EXPECT_EQ(after.warmup, 1.0);
  const std::size_t cell = network.cell(0, 1);
  EXPECT_NEAR(after.expected[cell], same_past.expected[cell], 0.01f * same_past.expected[cell]);
  EXPECT_NEAR(after.low[cell], same_past.low[cell], 0.2f * same_past.low[cell]);
  EXPECT_TRUE(Pipeline::restore(resumed->save(), network, {}));

  for (const int version : {1, 5}) {
    older[8] = std::byte(version);
    EXPECT_EQ(
        Pipeline::restore(resealed(older), network, {}).error(),
        "the snapshot is of version " + std::to_string(version) + ", this program reads 2 to 4");
  }
}

TEST(PipelineSnapshot, OfAnotherBinWidthIsRefused) {
  Network network = small_network(3);
  const Bytes bytes = Pipeline(network, {}).save();
  network.bin_seconds = 900;
  EXPECT_EQ(Pipeline::restore(bytes, network, {}).error(),
            "the snapshot has bins of 300 s, not 900");
}

}  // namespace
}  // namespace outlierd
