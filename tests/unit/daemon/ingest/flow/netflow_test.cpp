// NetFlow v5 and v9 and IPFIX datagrams written by hand: what they say is known here, byte by byte.

#include <gtest/gtest.h>

#include "daemon/ingest/flow/flow_decoder.h"
#include "tests/support/datagrams.h"

namespace outlierd::ingest {
namespace {

using namespace outlierd::test;

const IpAddress kRouter = v4(192, 0, 2, 1), kOtherRouter = v4(192, 0, 2, 2);
constexpr std::int64_t kExport = std::int64_t(kUnixSeconds) * 1000;

class Netflow : public testing::Test {
 protected:
  FlowRefusal decode(const Datagram& datagram, const IpAddress& from = kRouter) {
    return decoder.decode(from, datagram.span(), batch);
  }
  FlowDecoder decoder;
  FlowBatch batch;
};

Datagram netflow5(std::uint16_t count, std::uint32_t sequence, std::uint16_t sampling,
                  std::uint32_t uptime = kUptime) {
  return Datagram()
      .u16(5)
      .u16(count)
      .u32(uptime)
      .u32(kUnixSeconds)
      .u32(250000000)
      .u32(sequence)
      .u8(1)
      .u8(2)
      .u16(sampling);
}

Datagram netflow5_record(std::uint32_t first, std::uint32_t last) {
  return Datagram()
      .bytes({10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 3})
      .u16(4)
      .u16(5)
      .u32(6)
      .u32(7000)
      .u32(first)
      .u32(last)
      .u16(443)
      .u16(50000)
      .u8(0)
      .u8(0x1b)
      .u8(6)
      .u8(0x20)
      .u16(64500)
      .u16(64501)
      .u8(24)
      .u8(16)
      .u16(0);
}

TEST_F(Netflow, Version5SaysWhatItsBytesSay) {
  Datagram datagram = netflow5(2, 100, 0x4000 | 512);
  datagram.append(netflow5_record(kUptime - 5000, kUptime - 1000));
  datagram.append(netflow5_record(kUptime - 60000, kUptime));
  ASSERT_EQ(decode(datagram), FlowRefusal::kNone);
  EXPECT_EQ(batch.protocol, FlowProtocol::kNetflow5);
  EXPECT_EQ(batch.exporter, kRouter);
  EXPECT_EQ(batch.domain, 0x0102u);
  EXPECT_EQ(batch.sequence, 100u);
  EXPECT_EQ(batch.export_time, kExport + 250);
  ASSERT_EQ(batch.records.size(), 2u);
  const FlowRecord& record = batch.records[0];
  EXPECT_EQ(record.source, v4(10, 0, 0, 1));
  EXPECT_EQ(record.destination, v4(10, 0, 0, 2));
  EXPECT_EQ(record.next_hop, v4(10, 0, 0, 3));
  EXPECT_EQ(record.bgp_next_hop.family, 0);
  EXPECT_EQ(record.input_interface, 4u);
  EXPECT_EQ(record.output_interface, 5u);
  EXPECT_EQ(record.packets, 6u);
  EXPECT_EQ(record.bytes, 7000u);
  EXPECT_EQ(record.flows, 1u);
  EXPECT_EQ(record.start, kExport + 250 - 5000);
  EXPECT_EQ(record.end, kExport + 250 - 1000);
  EXPECT_EQ(record.source_port, 443);
  EXPECT_EQ(record.destination_port, 50000);
  EXPECT_EQ(record.tcp_flags, 0x1b);
  EXPECT_EQ(record.protocol, 6);
  EXPECT_EQ(record.type_of_service, 0x20);
  EXPECT_EQ(record.source_as, 64500u);
  EXPECT_EQ(record.destination_as, 64501u);
  EXPECT_EQ(record.source_prefix_length, 24);
  EXPECT_EQ(record.destination_prefix_length, 16);
  EXPECT_EQ(record.sampling_rate, 512u);
  EXPECT_EQ(record.direction, FlowDirection::kUnknown);
  EXPECT_EQ(batch.records[1].start, kExport + 250 - 60000);
}

TEST_F(Netflow, UptimeMayWrapBetweenTheFlowAndTheDatagram) {
  Datagram datagram = netflow5(1, 0, 0, 2000);  // wrapped two seconds ago
  datagram.append(netflow5_record(0xffffffff - 2999, 1000));
  ASSERT_EQ(decode(datagram), FlowRefusal::kNone);
  EXPECT_EQ(batch.records[0].start, kExport + 250 - 5000);
  EXPECT_EQ(batch.records[0].end, kExport + 250 - 1000);
  EXPECT_EQ(batch.records[0].sampling_rate, 0u);  // not known
}

TEST_F(Netflow, Version5WithACountThatDoesNotFitIsRefused) {
  EXPECT_EQ(decode(netflow5(2, 0, 0).append(netflow5_record(0, 0))), FlowRefusal::kBadLength);
  EXPECT_TRUE(batch.records.empty());
  EXPECT_EQ(decode(Datagram().u16(5).u16(1).fill(10)), FlowRefusal::kTooShort);
}

TEST_F(Netflow, OtherVersionsAreRefused) {
  EXPECT_EQ(decode(Datagram().u16(7).fill(60)), FlowRefusal::kUnknownVersion);
  EXPECT_EQ(decode(Datagram().u32(4).fill(60)), FlowRefusal::kUnknownVersion);
  EXPECT_EQ(decode(Datagram().u16(9)), FlowRefusal::kTooShort);
  EXPECT_EQ(decode(Datagram()), FlowRefusal::kTooShort);
}

const std::initializer_list<Field> kPlain = {{8, 4},  {12, 4}, {1, 4},  {2, 4},  {22, 4},
                                             {21, 4}, {10, 2}, {14, 4}, {61, 1}, {16, 4}};

Datagram plain_record(int last_byte, std::uint32_t bytes, int direction = 0) {
  return Datagram()
      .bytes({10, 0, 0, last_byte, 10, 0, 1, 1})
      .u32(bytes)
      .u32(3)
      .u32(kUptime - 9000)
      .u32(kUptime - 1000)
      .u16(11)
      .u32(70000)
      .u8(direction)
      .u32(4200000000);
}

TEST_F(Netflow, Version9NeedsItsTemplateAndThenSaysWhatItsBytesSay) {
  const Datagram data = Datagram().set(
      256, Datagram().append(plain_record(1, 100)).append(plain_record(2, 200, 1)).u8(0));
  ASSERT_EQ(decode(netflow9(1, data)), FlowRefusal::kNone);
  EXPECT_EQ(batch.sets_without_template, 1u);
  EXPECT_TRUE(batch.records.empty());

  ASSERT_EQ(decode(netflow9(2, Datagram().set(0, template_of(256, kPlain)))), FlowRefusal::kNone);
  EXPECT_EQ(batch.templates, 1u);
  ASSERT_EQ(decode(netflow9(3, data)), FlowRefusal::kNone);
  EXPECT_EQ(batch.sets_without_template, 0u);
  ASSERT_EQ(batch.records.size(), 2u);  // the last byte of the set is padding
  const FlowRecord& record = batch.records[1];
  EXPECT_EQ(record.source, v4(10, 0, 0, 2));
  EXPECT_EQ(record.destination, v4(10, 0, 1, 1));
  EXPECT_EQ(record.bytes, 200u);
  EXPECT_EQ(record.packets, 3u);
  EXPECT_EQ(record.start, kExport - 9000);
  EXPECT_EQ(record.end, kExport - 1000);
  EXPECT_EQ(record.input_interface, 11u);
  EXPECT_EQ(record.output_interface, 70000u);
  EXPECT_EQ(record.direction, FlowDirection::kEgress);
  EXPECT_EQ(record.source_as, 4200000000u);
  EXPECT_EQ(batch.records[0].direction, FlowDirection::kIngress);
}

TEST_F(Netflow, TemplatesBelongToOneExporterAndOneDomain) {
  decode(netflow9(1, Datagram().set(0, template_of(256, kPlain))));
  const Datagram data = Datagram().set(256, plain_record(1, 100));
  decode(netflow9(1, data, 8));
  EXPECT_EQ(batch.sets_without_template, 1u);
  decode(netflow9(1, data), kOtherRouter);
  EXPECT_EQ(batch.sets_without_template, 1u);
  decode(ipfix(1, data));  // the same numbers, another protocol
  EXPECT_EQ(batch.sets_without_template, 1u);
  decode(netflow9(2, data));
  EXPECT_EQ(batch.records.size(), 1u);
}

TEST_F(Netflow, ARateSaidInTheRecordGoesBeforeThoseOfOptions) {
  // Options: sampler 5 takes 1 in 1000 (element 50); whoever names no sampler, 1 in 64 (34).
  const Datagram options =
      Datagram().u16(300).u16(4).u16(8).u16(1).u16(4).u16(48).u16(1).u16(50).u16(4);
  const Datagram everything = Datagram().u16(301).u16(4).u16(4).u16(1).u16(4).u16(34).u16(4);
  const Datagram templates =
      Datagram()
          .set(1, Datagram().append(options).append(everything))
          .set(0, Datagram()
                      .append(template_of(256, {{8, 4}, {1, 4}, {48, 1}}))
                      .append(template_of(257, {{8, 4}, {1, 4}, {48, 1}, {34, 4}}))
                      .append(template_of(258, {{8, 4}, {1, 4}})));
  ASSERT_EQ(decode(netflow9(1, templates)), FlowRefusal::kNone);
  const Datagram with_sampler = Datagram().u32(1).u32(100).u8(5);
  decode(netflow9(2, Datagram().set(256, with_sampler)));
  EXPECT_EQ(batch.records[0].sampling_rate, 0u);  // nothing known yet

  decode(netflow9(3, Datagram().set(300, Datagram().u32(0).u8(5).u32(1000))));
  EXPECT_EQ(batch.options_records, 1u);
  decode(netflow9(4, Datagram().set(256, with_sampler)));
  EXPECT_EQ(batch.records[0].sampling_rate, 1000u);
  decode(netflow9(5, Datagram().set(301, Datagram().u32(0).u32(64))));
  const Datagram data =
      Datagram()
          .set(256, Datagram().append(with_sampler).u32(1).u32(1).u8(9))
          .set(257, Datagram().append(with_sampler).u32(10).append(with_sampler).u32(0))
          .set(258, Datagram().u32(1).u32(1));
  decode(netflow9(6, data));
  ASSERT_EQ(batch.records.size(), 5u);
  EXPECT_EQ(batch.records[0].sampling_rate, 1000u);  // its sampler's
  EXPECT_EQ(batch.records[1].sampling_rate, 64u);    // of a sampler never heard of
  EXPECT_EQ(batch.records[2].sampling_rate, 10u);    // its own
  EXPECT_EQ(batch.records[3].sampling_rate, 1000u);  // its own is 0: not said
  EXPECT_EQ(batch.records[4].sampling_rate, 64u);
  // Another domain of the exporter that says nothing: the exporter's.
  decode(netflow9(
      1, Datagram().set(0, template_of(258, {{8, 4}, {1, 4}})).set(258, Datagram().u32(1).u32(1)),
      8));
  EXPECT_EQ(batch.records[0].sampling_rate, 64u);
  // Another exporter: not known.
  decode(
      netflow9(
          1,
          Datagram().set(0, template_of(258, {{8, 4}, {1, 4}})).set(258, Datagram().u32(1).u32(1))),
      kOtherRouter);
  EXPECT_EQ(batch.records[0].sampling_rate, 0u);
}

TEST_F(Netflow, IpfixRatesComeAsIntervalAndSpaceOrSizeAndPopulation) {
  const auto rate_after = [&](Field one, Field two, std::uint32_t a, std::uint32_t b) {
    FlowDecoder fresh;
    const Datagram templates = Datagram()
                                   .set(3, Datagram()
                                               .u16(300)
                                               .u16(3)
                                               .u16(1)
                                               .u16(149)
                                               .u16(4)
                                               .u16(one.element)
                                               .u16(4)
                                               .u16(two.element)
                                               .u16(4))
                                   .set(2, template_of(256, {{8, 4}, {1, 4}}));
    fresh.decode(kRouter, ipfix(0, templates).span(), batch);
    fresh.decode(
        kRouter,
        ipfix(
            0,
            Datagram().set(300, Datagram().u32(7).u32(a).u32(b)).set(256, Datagram().u32(1).u32(1)))
            .span(),
        batch);
    return batch.records.at(0).sampling_rate;
  };
  EXPECT_EQ(rate_after({305, 4}, {306, 4}, 1, 99), 100u);
  EXPECT_EQ(rate_after({305, 4}, {306, 4}, 10, 90), 10u);
  EXPECT_EQ(rate_after({305, 4}, {306, 4}, 1, 0), 1u);
  EXPECT_EQ(rate_after({309, 4}, {310, 4}, 1, 2048), 2048u);
  EXPECT_EQ(rate_after({309, 4}, {310, 4}, 0, 2048), 0u);
}

TEST_F(Netflow, IpfixFieldsMayHaveAnyLength) {
  // Reduced size (bytes in 3), variable length, and an enterprise's own, of which 1 is not bytes.
  const Datagram templates = Datagram().set(
      2, template_of(
             256,
             {{1, 2, 29305}, {27, 16}, {82, 65535}, {28, 16}, {1, 3}, {2, 1}, {152, 8}, {153, 8}}));
  const auto record = [](const Datagram& text) {
    return Datagram()
        .u16(9999)
        .u64(0x20010db800000000)
        .u64(1)
        .append(text)
        .u64(0x20010db800000000)
        .u64(2)
        .u24(0x010203)
        .u8(7)
        .u64(kExport - 5)
        .u64(kExport);
  };
  Datagram long_text = Datagram().u8(255).u16(300).fill(300, 'x');
  ASSERT_EQ(decode(ipfix(0, Datagram().append(templates).set(
                                256, Datagram()
                                         .append(record(Datagram().u8(2).fill(2, 'a')))
                                         .append(record(Datagram().u8(0)))
                                         .append(record(long_text))
                                         .u8(0)))),
            FlowRefusal::kNone);
  ASSERT_EQ(batch.records.size(), 3u);
  for (const FlowRecord& each : batch.records) {
    EXPECT_EQ(each.bytes, 0x010203u);
    EXPECT_EQ(each.packets, 7u);
    EXPECT_EQ(each.source.family, 6);
    EXPECT_EQ(each.source.bytes[0], 0x20);
    EXPECT_EQ(each.source.bytes[15], 1);
    EXPECT_EQ(each.destination.bytes[15], 2);
    EXPECT_EQ(each.start, kExport - 5);
    EXPECT_EQ(each.end, kExport);
  }
}

TEST_F(Netflow, IpfixTimesComeInFiveWays) {
  const auto times = [&](std::initializer_list<Field> fields, const Datagram& data) {
    FlowDecoder fresh;
    fresh.decode(kRouter,
                 ipfix(0, Datagram().set(2, template_of(256, fields)).set(256, data)).span(),
                 batch);
    EXPECT_EQ(batch.records.size(), 1u);
    return std::pair(batch.records.at(0).start, batch.records.at(0).end);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(times({{1, 4}, {150, 4}, {151, 4}}, Datagram().u32(1).u32(1600000000).u32(1600000060)),
            Pair(1600000000000, 1600000060000));
  // 2208988800 s from 1900 to 1970; 0x80000000 is half a second.
  EXPECT_EQ(times({{1, 4}, {154, 8}, {155, 8}},
                  Datagram().u32(1).u32(1600000000 + 2208988800).u32(0x80000000).u64(0)),
            Pair(1600000000500, -1));
  EXPECT_EQ(times({{1, 4}, {156, 8}, {157, 8}},
                  Datagram().u32(1).u64(0).u32(1600000000 + 2208988800).u32(0x40000000)),
            Pair(-1, 1600000000250));
  // Milliseconds since the exporter started, which it did 1000 s before the export.
  EXPECT_EQ(times({{1, 4}, {22, 4}, {21, 4}, {160, 8}},
                  Datagram().u32(1).u32(990000).u32(1000000).u64(kExport - 1000000)),
            Pair(kExport - 10000, kExport));
  EXPECT_EQ(times({{1, 4}, {22, 4}, {21, 4}}, Datagram().u32(1).u32(990000).u32(1000000)),
            Pair(-1, -1));
}

TEST_F(Netflow, ATemplateWithoutFieldsWithdraws) {
  const Datagram data = Datagram().set(256, Datagram().u32(1).u32(1));
  const Datagram define = Datagram().set(2, template_of(256, {{8, 4}, {1, 4}}));
  decode(ipfix(0, Datagram().append(define).append(data)));
  EXPECT_EQ(batch.records.size(), 1u);
  decode(ipfix(1, Datagram().set(2, Datagram().u16(256).u16(0))));
  EXPECT_EQ(batch.templates_withdrawn, 1u);
  decode(ipfix(1, data));
  EXPECT_EQ(batch.sets_without_template, 1u);
  decode(ipfix(2, define));
  decode(ipfix(2, Datagram().set(2, Datagram().u16(2).u16(0))));  // all of them
  EXPECT_EQ(batch.templates_withdrawn, 1u);
  EXPECT_EQ(decoder.counts().templates, 0u);
}

TEST_F(Netflow, TheBetterOfTwoFieldsCountsWhereItIsNotZero) {
  const Datagram define =
      Datagram().set(0, template_of(256, {{252, 4}, {10, 2}, {23, 4}, {1, 4}, {8, 4}, {27, 16}}));
  const Datagram data = Datagram().set(256, Datagram()
                                                .u32(77)
                                                .u16(0)
                                                .u32(500)
                                                .u32(600)
                                                .u32(0x0a000001)
                                                .fill(16)
                                                .u32(77)
                                                .u16(8)
                                                .u32(500)
                                                .u32(0)
                                                .u32(0)
                                                .fill(15)
                                                .u8(1));
  ASSERT_EQ(decode(netflow9(1, Datagram().append(define).append(data))), FlowRefusal::kNone);
  ASSERT_EQ(batch.records.size(), 2u);
  EXPECT_EQ(batch.records[0].input_interface, 77u);
  EXPECT_EQ(batch.records[0].bytes, 600u);
  EXPECT_EQ(batch.records[0].source, v4(10, 0, 0, 1));
  EXPECT_EQ(batch.records[1].input_interface, 8u);
  EXPECT_EQ(batch.records[1].bytes, 0u);  // a counter that is zero means it
  EXPECT_EQ(batch.records[1].source.family, 6);
}

TEST_F(Netflow, RecordsWithoutCountersAreIgnoredAndCounted) {
  decode(netflow9(1, Datagram()
                         .set(0, template_of(256, {{8, 4}, {12, 4}, {233, 1}}))
                         .set(256, Datagram().fill(18, 1))));
  EXPECT_TRUE(batch.records.empty());
  EXPECT_EQ(batch.records_ignored, 2u);
}

// ---- lies

TEST_F(Netflow, TemplatesThatLieAboutLengthsAreRefused) {
  const auto refused = [&](const Datagram& sets, bool nine) {
    const FlowRefusal refusal = decode(nine ? netflow9(1, sets) : ipfix(1, sets));
    EXPECT_TRUE(batch.records.empty());
    return refusal;
  };
  for (bool nine : {true, false}) {
    const std::uint16_t set = nine ? 0 : 2;
    // More fields than there are; no length at all; a record longer than any datagram; a bad id.
    EXPECT_EQ(refused(Datagram().set(set, Datagram().u16(256).u16(9).u16(1).u16(4)), nine),
              FlowRefusal::kBadTemplate);
    EXPECT_EQ(refused(Datagram().set(set, template_of(256, {{1, 0}, {2, 0}})), nine),
              FlowRefusal::kBadTemplate);
    EXPECT_EQ(refused(Datagram().set(set, template_of(256, {{1, 60000}, {2, 60000}})), nine),
              FlowRefusal::kBadTemplate);
    EXPECT_EQ(refused(Datagram().set(set, template_of(255, {{1, 4}})), nine),
              FlowRefusal::kBadTemplate);
    // A set longer than the datagram, and one shorter than its own header.
    EXPECT_EQ(refused(Datagram().u16(set).u16(400).u32(1), nine), FlowRefusal::kBadLength);
    EXPECT_EQ(refused(Datagram().u16(300).u16(3).u32(1), nine), FlowRefusal::kBadLength);
    EXPECT_EQ(decoder.counts().templates, 0u);
  }
  // Options: scopes beyond the fields.
  EXPECT_EQ(refused(Datagram().set(3, Datagram().u16(300).u16(1).u16(2).u16(34).u16(4)), false),
            FlowRefusal::kBadTemplate);
  // A variable length that reaches beyond its set.
  EXPECT_EQ(refused(Datagram()
                        .set(2, template_of(256, {{82, 65535}, {1, 4}}))
                        .set(256, Datagram().u8(200).u32(1)),
                    false),
            FlowRefusal::kBadLength);
  // A message longer than its datagram.
  Datagram longer = ipfix(1, Datagram().set(300, Datagram().u32(1)));
  longer.raw().pop_back();
  EXPECT_EQ(decode(longer), FlowRefusal::kBadLength);
}

TEST_F(Netflow, AFaultCostsItsSetNotTheOthers) {
  const Datagram sets = Datagram()
                            .set(2, template_of(255, {{1, 4}}))
                            .set(2, template_of(256, {{8, 4}, {1, 4}}))
                            .set(256, Datagram().u32(1).u32(1));
  EXPECT_EQ(decode(ipfix(0, sets)), FlowRefusal::kBadTemplate);
  EXPECT_EQ(batch.templates_refused, 1u);
  EXPECT_EQ(batch.records.size(), 1u);
}

TEST_F(Netflow, ADatagramFilledUpWithZerosIsFine) {
  const Datagram sets = Datagram()
                            .set(0, template_of(256, {{8, 4}, {1, 4}}))
                            .set(256, Datagram().u32(1).u32(1))
                            .fill(500);
  EXPECT_EQ(decode(netflow9(1, sets)), FlowRefusal::kNone);
  EXPECT_EQ(batch.records.size(), 1u);
}

// ---- files of datagrams in a row

TEST_F(Netflow, DatagramsInARowAreToldApart) {
  Datagram five = netflow5(1, 0, 0).append(netflow5_record(0, 0));
  Datagram nine = netflow9(1, Datagram().set(0, template_of(256, {{8, 4}, {1, 4}})));
  Datagram ten = ipfix(1, Datagram().set(2, template_of(256, {{8, 4}, {1, 4}})));
  for (const Datagram& each : {five, nine, ten}) {
    const std::size_t length = each.size();
    EXPECT_EQ(FlowDecoder::datagram_length(each.span()), length);
    EXPECT_EQ(FlowDecoder::datagram_length(Datagram().append(each).append(each).span()), length);
  }
}

}  // namespace
}  // namespace outlierd::ingest
