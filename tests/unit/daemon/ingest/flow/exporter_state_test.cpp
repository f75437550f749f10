// What a decoder remembers of exporters: what is missing by their sequence numbers, how much is
// kept when somebody sends too much, and what survives a restart.

#include <gtest/gtest.h>

#include "daemon/ingest/flow/flow_decoder.h"
#include "tests/support/datagrams.h"

namespace outlierd::ingest {
namespace {

using namespace outlierd::test;

const IpAddress kRouter = v4(192, 0, 2, 1);

Datagram two_fields() { return template_of(256, {{8, 4}, {1, 4}}); }

Datagram records(int count) {
  Datagram data;
  for (int k = 0; k < count; ++k) data.u32(0x0a000001).u32(1);
  return Datagram().set(256, data);
}

class Loss : public testing::Test {
 protected:
  std::uint64_t lost_at(const Datagram& datagram) {
    decoder.decode(kRouter, datagram.span(), batch);
    return batch.lost;
  }
  Datagram five(std::uint32_t sequence, std::uint16_t count, std::uint32_t uptime = kUptime) {
    return Datagram()
        .u16(5)
        .u16(count)
        .u32(uptime)
        .u32(kUnixSeconds)
        .u32(0)
        .u32(sequence)
        .u32(0)
        .fill(count * 48u);
  }
  FlowDecoder decoder;
  FlowBatch batch;
};

TEST_F(Loss, Version5CountsFlows) {
  EXPECT_EQ(lost_at(five(1000, 30)), 0u);  // the first says nothing
  EXPECT_EQ(lost_at(five(1030, 30)), 0u);
  EXPECT_EQ(lost_at(five(1090, 10)), 30u);
  EXPECT_EQ(batch.lost_records, 30u);
  EXPECT_EQ(lost_at(five(1100, 1)), 0u);
}

TEST_F(Loss, Version9CountsDatagramsAndRecordsAreEstimated) {
  lost_at(netflow9(10, Datagram().set(0, two_fields())));
  for (std::uint32_t k = 11; k < 20; ++k) EXPECT_EQ(lost_at(netflow9(k, records(20))), 0u);
  EXPECT_EQ(lost_at(netflow9(25, records(20))), 5u);
  EXPECT_EQ(batch.lost_records, 5u * 180 / 10);  // 180 records in 10 datagrams so far
}

TEST_F(Loss, Version9OfExportersThatCountRecordsIsUnderstood) {
  lost_at(netflow9(100, Datagram().set(0, two_fields()).append(records(20))));
  for (std::uint32_t k = 1; k < 5; ++k) EXPECT_EQ(lost_at(netflow9(100 + 20 * k, records(20))), 0u);
  EXPECT_EQ(lost_at(netflow9(240, records(20))), 40u);
}

TEST_F(Loss, IpfixCountsDataRecordsOfAllKinds) {
  const Datagram options =
      Datagram().set(3, Datagram().u16(300).u16(2).u16(1).u16(149).u16(4).u16(34).u16(4));
  lost_at(ipfix(500, Datagram().set(2, two_fields()).append(options)));
  EXPECT_EQ(lost_at(ipfix(500, records(3).set(300, Datagram().u32(7).u32(10)))), 0u);
  EXPECT_EQ(lost_at(ipfix(504, records(1))), 0u);
  EXPECT_EQ(lost_at(ipfix(515, records(1))), 10u);
}

TEST_F(Loss, WhatCannotBeCountedIsNotLoss) {
  lost_at(ipfix(0, Datagram().set(2, two_fields())));
  EXPECT_EQ(lost_at(ipfix(0, records(1).set(999, Datagram().fill(40)))), 0u);
  EXPECT_EQ(batch.sets_without_template, 1u);
  EXPECT_EQ(lost_at(ipfix(6, records(1))), 0u);  // how many were in the unknown set?
  EXPECT_EQ(lost_at(ipfix(17, records(1))), 10u);
}

TEST_F(Loss, ADatagramThatWasOvertakenIsSaidToBe) {
  lost_at(five(100, 10));
  EXPECT_EQ(lost_at(five(120, 10)), 10u);
  EXPECT_EQ(lost_at(five(110, 10)), 0u);
  EXPECT_TRUE(batch.reordered);
  EXPECT_EQ(batch.found_records, 10u);
  EXPECT_EQ(lost_at(five(130, 10)), 0u);
  EXPECT_FALSE(batch.reordered);
  EXPECT_EQ(batch.found_records, 0u);
}

TEST_F(Loss, NumbersWrap) {
  lost_at(five(0xfffffff0, 10));
  EXPECT_EQ(lost_at(five(0xfffffffa, 10)), 0u);
  EXPECT_EQ(lost_at(five(14, 10)), 10u);
}

TEST_F(Loss, AnExporterThatBeganAnewHasLostNothing) {
  lost_at(five(100000, 10, 90000000));
  EXPECT_EQ(lost_at(five(99990, 10, 1000)), 0u);  // its uptime went back by a day
  EXPECT_TRUE(batch.restarted);
  EXPECT_EQ(lost_at(five(100000, 10, 2000)), 0u);
  EXPECT_FALSE(batch.restarted);
  EXPECT_EQ(lost_at(five(0xb0000000, 10, 3000)), 0u);  // too far for a loss
  EXPECT_TRUE(batch.restarted);
  EXPECT_EQ(lost_at(five(0, 10, 4000)), 0u);
  EXPECT_TRUE(batch.restarted);
}

// ---- bounds

TEST(ExporterState, AMillionTemplatesOfOneExporterStayBounded) {
  const FlowDecoderLimits limits;
  FlowDecoder decoder(limits);
  FlowBatch batch;
  std::uint64_t defined = 0;
  for (std::uint32_t domain = 0; defined < 1000000; ++domain) {
    for (std::uint32_t first = 256; first < 65536 && defined < 1000000; first += 4080) {
      Datagram templates;
      for (std::uint32_t id = first; id < first + 4080; ++id)
        templates.append(template_of(std::uint16_t(id), {{8, 4}, {1, 4}}));
      ASSERT_EQ(
          decoder.decode(kRouter, ipfix(0, Datagram().set(2, templates), domain).span(), batch),
          FlowRefusal::kNone);
      defined += batch.templates;
    }
  }
  const FlowDecoderCounts counts = decoder.counts();
  EXPECT_LE(counts.state_bytes, limits.state_bytes);
  EXPECT_LE(counts.templates, counts.domains * limits.templates_per_domain);
  EXPECT_EQ(counts.templates + counts.templates_evicted, defined);
}

TEST(ExporterState, SpoofedExportersDriveOutEachOtherAndNotTheRealOne) {
  FlowDecoder decoder({.domains = 100});
  FlowBatch batch;
  decoder.decode(kRouter, netflow9(1, Datagram().set(0, two_fields()).append(records(1))).span(),
                 batch);
  ASSERT_EQ(batch.records.size(), 1u);
  for (int k = 0; k < 20000; ++k) {
    const IpAddress spoofed = v4(10, k >> 16 & 255, k >> 8 & 255, k & 255);
    decoder.decode(spoofed, netflow9(1, Datagram().set(0, two_fields())).span(), batch);
  }
  EXPECT_EQ(decoder.counts().domains, 100u);
  EXPECT_EQ(decoder.counts().domains_evicted, 20001u - 100u);
  decoder.decode(kRouter, netflow9(2, records(1)).span(), batch);
  EXPECT_EQ(batch.records.size(), 1u);
}

TEST(ExporterState, TheTemplateInUseSurvivesAFloodOfOthersInItsDomain) {
  FlowDecoder decoder({.templates_per_domain = 64});
  FlowBatch batch;
  decoder.decode(kRouter, ipfix(0, Datagram().set(2, template_of(30000, {{8, 4}, {1, 4}}))).span(),
                 batch);
  for (std::uint16_t id = 300; id < 20000; ++id) {
    decoder.decode(kRouter, ipfix(0, Datagram().set(2, template_of(id, {{8, 4}, {1, 4}}))).span(),
                   batch);
    decoder.decode(kRouter, ipfix(0, Datagram().set(30000, Datagram().u32(1).u32(1))).span(),
                   batch);
    ASSERT_EQ(batch.records.size(), 1u) << id;
  }
  EXPECT_EQ(decoder.counts().templates, 64u);
}

// ---- restarts

TEST(ExporterState, TemplatesAndRatesSurviveARestart) {
  FlowDecoder before;
  FlowBatch batch;
  const Datagram options = Datagram().set(
      1, Datagram().u16(300).u16(4).u16(8).u16(1).u16(4).u16(48).u16(1).u16(50).u16(4));
  const Datagram sampled = template_of(257, {{8, 4}, {1, 4}, {48, 1}});
  before.decode(
      kRouter,
      netflow9(1,
               Datagram().set(0, Datagram().append(two_fields()).append(sampled)).append(options))
          .span(),
      batch);
  before.decode(kRouter, netflow9(2, Datagram().set(300, Datagram().u32(0).u8(3).u32(128))).span(),
                batch);
  const std::vector<std::byte> saved = before.save();

  FlowDecoder after;
  ASSERT_TRUE(after.restore(saved).has_value());
  after.decode(kRouter, netflow9(77, Datagram().set(257, Datagram().u32(1).u32(2).u8(3))).span(),
               batch);
  ASSERT_EQ(batch.records.size(), 1u);
  EXPECT_EQ(batch.records[0].sampling_rate, 128u);
  EXPECT_EQ(batch.lost, 0u);
  EXPECT_EQ(after.counts().templates, 3u);
}

TEST(ExporterState, DamagedBytesChangeNothing) {
  FlowDecoder before;
  FlowBatch batch;
  before.decode(kRouter, netflow9(1, Datagram().set(0, two_fields())).span(), batch);
  const std::vector<std::byte> saved = before.save();
  for (std::size_t at = 0; at < saved.size(); ++at) {
    std::vector<std::byte> damaged = saved;
    damaged[at] ^= std::byte{0x10};
    FlowDecoder after;
    EXPECT_FALSE(after.restore(damaged).has_value()) << at;
    damaged.resize(at);
    EXPECT_FALSE(after.restore(damaged).has_value()) << at;
    EXPECT_EQ(after.counts().domains, 0u);
  }
}

}  // namespace
}  // namespace outlierd::ingest
