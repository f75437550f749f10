// sFlow datagrams and captures written by hand.

#include <gtest/gtest.h>

#include "daemon/ingest/flow/capture.h"
#include "daemon/ingest/flow/flow_decoder.h"
#include "tests/support/datagrams.h"

namespace outlierd::ingest {
namespace {

using namespace outlierd::test;

Datagram ipv4(int protocol, const Datagram& payload, int fragment = 0) {
  return Datagram()
      .u8(0x45)
      .u8(0x10)
      .u16(20 + payload.size())
      .u16(0)
      .u16(fragment)
      .u8(64)
      .u8(protocol)
      .u16(0)
      .bytes({10, 0, 0, 1, 10, 0, 0, 2})
      .append(payload);
}

Datagram ipv6(int next, const Datagram& payload) {
  return Datagram()
      .u32(0x60500000)
      .u16(payload.size())
      .u8(next)
      .u8(64)
      .u64(0x20010db800000000)
      .u64(1)
      .u64(0x20010db800000000)
      .u64(2)
      .append(payload);
}

Datagram tcp() {
  return Datagram().u16(443).u16(50000).u32(1).u32(2).u8(0x50).u8(0x12).u16(0).u32(0);
}

Datagram ethernet(std::initializer_list<int> types, const Datagram& payload) {
  Datagram frame = Datagram().fill(12, 0xaa);
  for (int type : types) {
    frame.u16(type);
    if (type == 0x8100 || type == 0x88a8) frame.u16(5);
  }
  return frame.append(payload);
}

Datagram raw_header(const Datagram& header, int protocol = 1, std::uint32_t frame_length = 1500) {
  Datagram body =
      Datagram().u32(protocol).u32(frame_length).u32(4).u32(header.size()).append(header);
  return body.fill((4 - body.size() % 4) % 4);
}

Datagram flow_sample(const Datagram& records, std::uint32_t count, std::uint32_t input = 7,
                     std::uint32_t output = 8, std::uint32_t source = 7) {
  return Datagram()
      .u32(1)
      .u32(source)
      .u32(400)
      .u32(9999)
      .u32(0)
      .u32(input)
      .u32(output)
      .u32(count)
      .append(records);
}

Datagram sflow(const Datagram& samples, std::uint32_t count, std::uint32_t sequence = 1) {
  return Datagram()
      .u32(5)
      .u32(1)
      .bytes({192, 0, 2, 9})
      .u32(3)
      .u32(sequence)
      .u32(60000)
      .u32(count)
      .append(samples);
}

class Sflow : public testing::Test {
 protected:
  FlowRefusal decode(const Datagram& datagram) {
    return decoder.decode(v4(192, 0, 2, 1), datagram.span(), batch);
  }
  FlowRecord packet(const Datagram& header, int protocol = 1) {
    const Datagram sample = flow_sample(Datagram().record(1, raw_header(header, protocol)), 1);
    EXPECT_EQ(decode(sflow(Datagram().record(1, sample), 1)), FlowRefusal::kNone);
    return batch.records.empty() ? FlowRecord{} : batch.records[0];
  }
  FlowDecoder decoder;
  FlowBatch batch;
};

TEST_F(Sflow, ASampledPacketIsARecord) {
  const FlowRecord record = packet(ethernet({0x0800}, ipv4(6, tcp())));
  EXPECT_EQ(batch.agent, v4(192, 0, 2, 9));
  EXPECT_EQ(batch.exporter, v4(192, 0, 2, 1));
  EXPECT_EQ(batch.domain, 3u);
  EXPECT_EQ(batch.export_time, -1);
  EXPECT_EQ(record.source, v4(10, 0, 0, 1));
  EXPECT_EQ(record.destination, v4(10, 0, 0, 2));
  EXPECT_EQ(record.bytes, 1500u);
  EXPECT_EQ(record.packets, 1u);
  EXPECT_EQ(record.sampling_rate, 400u);
  EXPECT_EQ(record.protocol, 6);
  EXPECT_EQ(record.source_port, 443);
  EXPECT_EQ(record.destination_port, 50000);
  EXPECT_EQ(record.tcp_flags, 0x12);
  EXPECT_EQ(record.type_of_service, 0x10);
  EXPECT_EQ(record.input_interface, 7u);
  EXPECT_EQ(record.output_interface, 8u);
  EXPECT_EQ(record.direction, FlowDirection::kIngress);
  EXPECT_EQ(record.start, -1);
}

TEST_F(Sflow, TagsAndLabelsAreLookedThrough) {
  const Datagram labels = Datagram().u32(100 << 12).u32(200 << 12 | 0x100);
  const Datagram inner = ipv4(6, tcp());
  const Datagram frames[] = {
      ethernet({0x8100, 0x0800}, inner), ethernet({0x88a8, 0x8100, 0x0800}, inner),
      ethernet({0x8847}, Datagram().append(labels).append(inner)),
      ethernet({0x8100, 0x8847}, Datagram().append(labels).append(inner)),
      ethernet({0x8847}, Datagram().append(labels).u32(0).append(ethernet({0x0800}, inner)))};
  for (const Datagram& frame : frames) {
    const FlowRecord record = packet(frame);
    EXPECT_EQ(record.source, v4(10, 0, 0, 1));
    EXPECT_EQ(record.destination_port, 50000);
  }
  EXPECT_EQ(packet(inner, 11).source, v4(10, 0, 0, 1));
  EXPECT_EQ(packet(Datagram().append(labels).append(inner), 13).source, v4(10, 0, 0, 1));
}

TEST_F(Sflow, Ipv6IsReadBehindItsExtensions) {
  // Hop-by-hop options of 16 bytes, then a fragment header of the first fragment.
  const Datagram payload = Datagram().u8(44).u8(1).fill(14).u8(6).u8(0).u16(1).u32(9).append(tcp());
  const FlowRecord record = packet(ethernet({0x86dd}, ipv6(0, payload)));
  EXPECT_EQ(record.source.family, 6);
  EXPECT_EQ(record.source.bytes[15], 1);
  EXPECT_EQ(record.destination.bytes[15], 2);
  EXPECT_EQ(record.protocol, 6);
  EXPECT_EQ(record.source_port, 443);
  EXPECT_EQ(record.type_of_service, 5);
  EXPECT_EQ(packet(ipv6(6, tcp()), 12).destination_port, 50000);
}

TEST_F(Sflow, LaterFragmentsHaveNoPorts) {
  EXPECT_EQ(packet(ethernet({0x0800}, ipv4(6, tcp(), 0x2000))).source_port, 443);
  EXPECT_EQ(packet(ethernet({0x0800}, ipv4(6, tcp(), 185))).source_port, 0);
}

TEST_F(Sflow, WhatIsNotIpIsIgnoredAndCounted) {
  packet(ethernet({0x0806}, Datagram().fill(28)));
  EXPECT_TRUE(batch.records.empty());
  EXPECT_EQ(batch.records_ignored, 1u);
  decode(sflow(Datagram().record(2, Datagram().fill(12)), 1));
  EXPECT_EQ(batch.samples_ignored, 1u);
}

TEST_F(Sflow, RouterAndGatewayTellNextHopsMasksAndNetworks) {
  const Datagram router = Datagram().u32(1).bytes({203, 0, 113, 1}).u32(24).u32(16);
  const Datagram gateway = Datagram()
                               .u32(1)
                               .bytes({203, 0, 113, 2})
                               .u32(64500)
                               .u32(64501)
                               .u32(64502)
                               .u32(2)
                               .u32(2)
                               .u32(2)
                               .u32(64503)
                               .u32(64504)
                               .u32(1)
                               .u32(1)
                               .u32(64505)
                               .u32(0)
                               .u32(100);
  const Datagram records = Datagram()
                               .record(1002, router)
                               .record(1, raw_header(ethernet({0x0800}, ipv4(6, tcp()))))
                               .record(1003, gateway);
  ASSERT_EQ(decode(sflow(Datagram().record(1, flow_sample(records, 3)), 1)), FlowRefusal::kNone);
  const FlowRecord& record = batch.records.at(0);
  EXPECT_EQ(record.next_hop, v4(203, 0, 113, 1));
  EXPECT_EQ(record.bgp_next_hop, v4(203, 0, 113, 2));
  EXPECT_EQ(record.source_prefix_length, 24);
  EXPECT_EQ(record.destination_prefix_length, 16);
  EXPECT_EQ(record.source_as, 64501u);
  EXPECT_EQ(record.destination_as, 64505u);
}

TEST_F(Sflow, ExpandedSamplesAndSampledAddressesAreUnderstood) {
  const Datagram sampled =
      Datagram().u32(100).u32(17).bytes({10, 0, 0, 1, 10, 0, 0, 2}).u32(53).u32(5353).u32(0).u32(8);
  const Datagram sample = Datagram()
                              .u32(1)
                              .u32(0)
                              .u32(70000)
                              .u32(256)
                              .u32(0)
                              .u32(0)
                              .u32(0)
                              .u32(66666)
                              .u32(0)
                              .u32(70000)
                              .u32(1)
                              .record(3, sampled);
  ASSERT_EQ(decode(sflow(Datagram().record(3, sample), 1)), FlowRefusal::kNone);
  const FlowRecord& record = batch.records.at(0);
  EXPECT_EQ(record.source, v4(10, 0, 0, 1));
  EXPECT_EQ(record.bytes, 100u);
  EXPECT_EQ(record.sampling_rate, 256u);
  EXPECT_EQ(record.source_port, 53);
  EXPECT_EQ(record.destination_port, 5353);
  EXPECT_EQ(record.protocol, 17);
  EXPECT_EQ(record.input_interface, 66666u);
  EXPECT_EQ(record.output_interface, 70000u);
  EXPECT_EQ(record.direction, FlowDirection::kEgress);  // it was sampled where it left
}

TEST_F(Sflow, LocalDroppedAndManyAreNoInterface) {
  for (std::uint32_t output : {0x3fffffffu, 0x40000102u, 0x80000003u}) {
    const Datagram records = Datagram().record(1, raw_header(ethernet({0x0800}, ipv4(6, tcp()))));
    decode(sflow(Datagram().record(1, flow_sample(records, 1, 7, output)), 1));
    EXPECT_EQ(batch.records.at(0).output_interface, 0u);
    EXPECT_EQ(batch.records.at(0).input_interface, 7u);
  }
}

TEST_F(Sflow, LengthsThatLieAreRefused) {
  EXPECT_EQ(decode(Datagram().u32(5).u32(1).u32(1)), FlowRefusal::kTooShort);
  EXPECT_EQ(decode(sflow(Datagram().u32(1).u32(4000).u32(1), 1)), FlowRefusal::kBadLength);
  EXPECT_EQ(decode(sflow(Datagram(), 1000000)), FlowRefusal::kBadLength);
  const Datagram huge = Datagram().u32(1).u32(1500).u32(0).u32(0xfffffff0).fill(20);
  EXPECT_EQ(decode(sflow(Datagram().record(1, flow_sample(Datagram().record(1, huge), 1)), 1)),
            FlowRefusal::kBadLength);
  EXPECT_TRUE(batch.records.empty());
  const Datagram path =
      Datagram().u32(1).u32(1).u32(1).u32(1).u32(1).u32(1).u32(2).u32(0x40000001).u32(1);
  EXPECT_EQ(decode(sflow(Datagram().record(1, flow_sample(Datagram().record(1003, path), 1)), 1)),
            FlowRefusal::kBadLength);
}

TEST_F(Sflow, LossIsCountedInDatagrams) {
  const Datagram sample =
      flow_sample(Datagram().record(1, raw_header(ethernet({0x0800}, ipv4(6, tcp())))), 1);
  decode(sflow(Datagram().record(1, sample).record(1, sample), 2, 10));
  decode(sflow(Datagram().record(1, sample).record(1, sample), 2, 14));
  EXPECT_EQ(batch.lost, 3u);
  EXPECT_EQ(batch.lost_records, 6u);
}

// ---- captures

Datagram udp(const Datagram& payload) {
  return Datagram().u16(1234).u16(2055).u16(8 + payload.size()).u16(0).append(payload);
}

// A pcap file of one packet in the given byte order.
std::vector<std::byte> capture(std::uint32_t magic, std::uint32_t link, const Datagram& frame,
                               bool little) {
  Datagram file;
  const auto put = [&](std::uint32_t value) {
    file.u32(little ? __builtin_bswap32(value) : value);
  };
  put(magic);
  file.fill(12);
  put(65535);
  put(link);
  put(1), put(2), put(std::uint32_t(frame.size())), put(std::uint32_t(frame.size()));
  return file.append(frame).raw();
}

TEST(Capture, DatagramsAreFoundUnderEveryLink) {
  const Datagram payload = Datagram().bytes({1, 2, 3});
  const Datagram four = ipv4(17, udp(payload)), six = ipv6(17, udp(payload));
  struct Case {
    std::uint32_t link;
    Datagram frame;
    int family;
  } cases[] = {{1, ethernet({0x0800}, four), 4},
               {1, ethernet({0x8100, 0x86dd}, six), 6},
               {113, Datagram().fill(14).u16(0x0800).append(four), 4},
               {276, Datagram().u16(0x86dd).fill(18).append(six), 6},
               {101, four, 4},
               {101, six, 6},
               {0, Datagram().u32(2).append(four), 4}};
  for (std::uint32_t magic : {0xa1b2c3d4u, 0xa1b23c4du})
    for (bool little : {true, false})
      for (const Case& each : cases) {
        const auto file = capture(magic, each.link, each.frame, little);
        ASSERT_TRUE(CaptureReader::recognises(file));
        CaptureReader reader(file);
        const auto packet = reader.next();
        ASSERT_TRUE(packet.has_value());
        EXPECT_EQ(packet->refusal, "") << each.link;
        EXPECT_EQ(packet->source.family, each.family);
        EXPECT_EQ(packet->source_port, 1234);
        EXPECT_TRUE(std::equal(packet->payload.begin(), packet->payload.end(),
                               payload.span().begin(), payload.span().end()));
        EXPECT_FALSE(reader.next().has_value());
        EXPECT_EQ(reader.problem(), "");
      }
}

TEST(Capture, WhatIsNoDatagramSaysWhy) {
  const auto refusal = [](const Datagram& frame) {
    const auto file = capture(0xa1b2c3d4, 101, frame, true);
    return std::string(CaptureReader(file).next()->refusal);
  };
  EXPECT_EQ(refusal(ipv4(6, tcp())), "is not UDP");
  EXPECT_EQ(refusal(ipv4(17, udp(Datagram()), 0x2000)), "is a fragment");
  EXPECT_EQ(refusal(ipv4(17, Datagram().u32(1).u16(100).u16(0))), "was not captured whole");
  EXPECT_EQ(refusal(Datagram().u32(0)), "is not an IP packet");
  auto file = capture(0xa1b2c3d4, 101, ipv4(17, udp(Datagram())), true);
  file.pop_back();
  CaptureReader cut(file);
  EXPECT_FALSE(cut.next().has_value());
  EXPECT_EQ(cut.problem(), "is cut off inside a packet");
}

}  // namespace
}  // namespace outlierd::ingest
