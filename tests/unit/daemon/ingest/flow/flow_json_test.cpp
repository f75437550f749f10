// Lines of JSON as the collectors write them.

#include "daemon/ingest/flow/flow_json.h"

#include <gtest/gtest.h>

#include "tests/support/datagrams.h"

namespace outlierd::ingest {
namespace {

using test::v4;

class FlowJson : public testing::Test {
 protected:
  FlowRefusal decode(std::string line) {
    const std::size_t size = line.size();
    line.resize(size + FlowJsonDecoder::kPadding);
    return decoder.decode({line.data(), size}, batch);
  }
  FlowJsonDecoder decoder;
  FlowBatch batch;
};

TEST_F(FlowJson, PmacctIsRecognised) {
  ASSERT_EQ(
      decode(
          R"({"event_type":"purge","tag":0,"as_src":64500,"as_dst":64501,"peer_as_dst":0,)"
          R"("peer_ip_src":"192.0.2.1","peer_ip_dst":"203.0.113.7","iface_in":3,"iface_out":4,)"
          R"("ip_src":"10.0.0.1","ip_dst":"10.0.0.2","mask_src":24,"mask_dst":16,"port_src":443,)"
          R"("port_dst":50000,"ip_proto":"tcp","tos":32,"sampling_rate":1,)"
          R"("timestamp_start":"2022-09-29 20:08:16.250000","timestamp_end":"2022-09-29 20:08:17.000000",)"
          R"("stamp_inserted":"2022-09-29 20:05:00","packets":5,"flows":2,"bytes":4000})"),
      FlowRefusal::kNone)
      << decoder.problem();
  EXPECT_EQ(batch.protocol, FlowProtocol::kPmacct);
  EXPECT_EQ(batch.exporter, v4(192, 0, 2, 1));
  ASSERT_EQ(batch.records.size(), 1u);
  const FlowRecord& record = batch.records[0];
  EXPECT_EQ(record.source, v4(10, 0, 0, 1));
  EXPECT_EQ(record.destination, v4(10, 0, 0, 2));
  EXPECT_EQ(record.bgp_next_hop, v4(203, 0, 113, 7));
  EXPECT_EQ(record.input_interface, 3u);
  EXPECT_EQ(record.output_interface, 4u);
  EXPECT_EQ(record.source_as, 64500u);
  EXPECT_EQ(record.destination_as, 64501u);
  EXPECT_EQ(record.source_prefix_length, 24);
  EXPECT_EQ(record.destination_prefix_length, 16);
  EXPECT_EQ(record.protocol, 6);
  EXPECT_EQ(record.sampling_rate, 1u);
  EXPECT_EQ(record.packets, 5u);
  EXPECT_EQ(record.flows, 2u);
  EXPECT_EQ(record.bytes, 4000u);
  EXPECT_EQ(record.start, 1664482096250);  // date -u -d '2022-09-29 20:08:16' +%s
  EXPECT_EQ(record.end, 1664482097000);
}

TEST_F(FlowJson, PmacctTimesComeInFourShapes) {
  const auto start = [&](const std::string& key, const std::string& time) {
    decode(R"({"ip_src":"10.0.0.1","bytes":1,")" + key + R"(":")" + time + "\"}");
    return batch.records.empty() ? -2 : batch.records[0].start;
  };
  EXPECT_EQ(start("stamp_inserted", "2022-09-29 20:05:00"), 1664481900000);
  EXPECT_EQ(batch.records[0].end, 1664481900000);
  EXPECT_EQ(start("stamp_inserted", "1515772618"), 1515772618000);
  EXPECT_EQ(start("timestamp_start", "1664491696.125000"), 1664491696125);
  EXPECT_EQ(start("timestamp_min", "2022-09-29T22:08:16.5+02:00"), 1664482096500);
  EXPECT_EQ(start("timestamp_start", "0000-00-00 00:00:00"), -1);
  EXPECT_EQ(start("timestamp_start", "yesterday"), -2);
  EXPECT_EQ(decoder.problem(), "timestamp_start: not a time");
}

TEST_F(FlowJson, PmacctMarkersAreNeitherRecordsNorRefused) {
  EXPECT_EQ(decode(R"({"event_type":"purge_init","writer_id":"default/4711"})"),
            FlowRefusal::kNone);
  EXPECT_TRUE(batch.records.empty());
  EXPECT_EQ(batch.records_ignored, 0u);
  EXPECT_EQ(
      decode(
          R"({"event_type":"purge_close","writer_id":"d/1","purged_entries":3,"total_entries":3,"duration":0})"),
      FlowRefusal::kNone);
  EXPECT_TRUE(batch.records.empty());
}

TEST_F(FlowJson, Goflow2IsRecognised) {
  ASSERT_EQ(
      decode(
          R"({"type":"NETFLOW_V9","time_received_ns":1700000001000000000,"sequence_num":12,)"
          R"("sampling_rate":100,"sampler_address":"192.0.2.1","time_flow_start_ns":1700000000123000000,)"
          R"("time_flow_end_ns":1700000000999000000,"bytes":500,"packets":2,"src_addr":"2001:db8::1",)"
          R"("dst_addr":"2001:db8::2","etype":"IPv6","proto":"UDP","src_port":53,"dst_port":5353,"in_if":1,)"
          R"("out_if":2,"src_as":1,"dst_as":4200000000,"next_hop":"","bgp_next_hop":"203.0.113.7",)"
          R"("src_net":"2001:db8::/32","dst_net":"2001:db8::/48","observation_domain_id":9})"),
      FlowRefusal::kNone)
      << decoder.problem();
  EXPECT_EQ(batch.protocol, FlowProtocol::kGoflow2);
  EXPECT_EQ(batch.exporter, v4(192, 0, 2, 1));
  EXPECT_EQ(batch.domain, 9u);
  EXPECT_EQ(batch.sequence, 12u);
  const FlowRecord& record = batch.records.at(0);
  EXPECT_EQ(record.source.family, 6);
  EXPECT_EQ(record.source.bytes[15], 1);
  EXPECT_EQ(record.protocol, 17);
  EXPECT_EQ(record.source_prefix_length, 32);
  EXPECT_EQ(record.destination_prefix_length, 48);
  EXPECT_EQ(record.next_hop.family, 0);
  EXPECT_EQ(record.bgp_next_hop, v4(203, 0, 113, 7));
  EXPECT_EQ(record.bytes, 500u);
  EXPECT_EQ(record.sampling_rate, 100u);
  EXPECT_EQ(record.start, 1700000000123);
  EXPECT_EQ(record.end, 1700000000999);
  EXPECT_EQ(record.destination_as, 4200000000u);
}

TEST_F(FlowJson, NfdumpIsRecognisedAndScaledAlready) {
  ASSERT_EQ(
      decode(
          R"({"type":"FLOW","sampled":1,"export_sysid":1,"first":"2023-01-01T00:00:00.100",)"
          R"("last":"2023-01-01T00:00:01.000","received":"2023-01-01T00:00:02.000","in_packets":2,)"
          R"("in_bytes":300,"proto":17,"tcp_flags":"........","src_port":53,"dst_port":5353,)"
          R"("src4_addr":"10.0.0.1","dst4_addr":"10.0.0.2","input_snmp":5,"output_snmp":6,"src_mask":8,)"
          R"("dst_mask":9,"direction":1,"ip4_next_hop":"10.0.0.3","bgp4_next_hop":"10.0.0.4","ip4_router":"192.0.2.1"})"),
      FlowRefusal::kNone)
      << decoder.problem();
  EXPECT_EQ(batch.protocol, FlowProtocol::kNfdump);
  EXPECT_EQ(batch.exporter, v4(192, 0, 2, 1));
  const FlowRecord& record = batch.records.at(0);
  EXPECT_EQ(record.source, v4(10, 0, 0, 1));
  EXPECT_EQ(record.destination, v4(10, 0, 0, 2));
  EXPECT_EQ(record.next_hop, v4(10, 0, 0, 3));
  EXPECT_EQ(record.bgp_next_hop, v4(10, 0, 0, 4));
  EXPECT_EQ(record.bytes, 300u);
  EXPECT_EQ(record.packets, 2u);
  EXPECT_EQ(record.sampling_rate, 1u);
  EXPECT_EQ(record.direction, FlowDirection::kEgress);
  EXPECT_EQ(record.start, 1672531200100);
  EXPECT_EQ(record.end, 1672531201000);
}

// As nfdump 1.7.1 wrote it of IPFIX that gives times since a start it does not tell.
TEST_F(FlowJson, AFlowWithoutTimesOfNfdumpIsOfWhenItWasReceived) {
  ASSERT_EQ(
      decode(
          R"({"type":"FLOW","sampled":0,"export_sysid":1,"first":"1970-01-01T00:00:00.000",)"
          R"("last":"1970-01-01T00:00:00.000","received":"2026-11-17T04:15:49.498","in_packets":3,)"
          R"("in_bytes":1000,"proto":6,"tcp_flags":"........","src_port":1234,"dst_port":443,"src_tos":0,)"
          R"("src4_addr":"10.0.0.1","dst4_addr":"10.0.1.1","input_snmp":1,"output_snmp":2,"src_mask":0,)"
          R"("dst_mask":0,"src_net":"","dst_net":"","fwd_status":0,"direction":0,"dst_tos":0,)"
          R"("src_as":64500,"dst_as":64501,"ip4_router":"127.0.0.1","label":"<none>"})"),
      FlowRefusal::kNone)
      << decoder.problem();
  const FlowRecord& record = batch.records.at(0);
  EXPECT_EQ(record.start, -1);
  EXPECT_EQ(record.end, 1794888949498);  // date -u -d '2026-11-17 04:15:49' +%s
  EXPECT_EQ(record.bytes, 1000u);
}

// As nfdump 1.7.1 wrote it of softflowd's IPFIX.
TEST_F(FlowJson, TimesOfNfdumpThatAreTheWrongWayRoundAreTurned) {
  ASSERT_EQ(
      decode(
          R"({"type":"FLOW","sampled":0,"export_sysid":1,"first":"2026-11-17T03:55:29.856",)"
          R"("last":"2026-11-17T03:55:10.049","received":"2026-11-17T04:07:41.874","in_packets":15,)"
          R"("in_bytes":10452,"proto":17,"tcp_flags":"........","src_port":62382,"dst_port":443,)"
          R"("src_tos":0,"src4_addr":"10.0.2.80","dst4_addr":"10.0.0.22","input_snmp":0,"output_snmp":0,)"
          R"("src_mask":0,"dst_mask":0,"src_net":"","dst_net":"","fwd_status":0,"direction":1,)"
          R"("dst_tos":0,"ip4_router":"127.0.0.1","label":"<none>"})"),
      FlowRefusal::kNone)
      << decoder.problem();
  const FlowRecord& record = batch.records.at(0);
  EXPECT_EQ(record.start, 1794887710049);  // date -u -d '2026-11-17 03:55:10' +%s
  EXPECT_EQ(record.end, 1794887729856);
}

TEST_F(FlowJson, VflowIsRecognisedInBothVersions) {
  ASSERT_EQ(
      decode(
          R"({"AgentID":"192.0.2.1","Header":{"Version":9,"Count":1,"SysUpTime":1000000,)"
          R"("UNIXSecs":1700000000,"SeqNum":4,"SrcID":6},"DataSets":[[{"I":8,"V":"10.0.0.1"},)"
          R"({"I":12,"V":"10.0.0.2"},{"I":1,"V":"0x00000050"},{"I":2,"V":5},{"I":22,"V":990000},)"
          R"({"I":80,"V":"00:11:22:33:44:55"},{"I":21,"V":"0x000f4240"}],[{"I":8,"V":"10.0.0.9"},{"I":1,"V":7}]]})"),
      FlowRefusal::kNone)
      << decoder.problem();
  EXPECT_EQ(batch.protocol, FlowProtocol::kVflow);
  EXPECT_EQ(batch.domain, 6u);
  ASSERT_EQ(batch.records.size(), 2u);
  EXPECT_EQ(batch.records[0].source, v4(10, 0, 0, 1));
  EXPECT_EQ(batch.records[0].destination, v4(10, 0, 0, 2));
  EXPECT_EQ(batch.records[0].bytes, 0x50u);
  EXPECT_EQ(batch.records[0].start, 1700000000000 - 10000);
  EXPECT_EQ(batch.records[0].end, 1700000000000);
  EXPECT_EQ(batch.records[1].source, v4(10, 0, 0, 9));
  EXPECT_EQ(batch.records[1].bytes, 7u);
  ASSERT_EQ(
      decode(
          R"({"AgentID":"2001:db8::9","Header":{"Version":10,"Length":100,"ExportTime":1700000000,"SequenceNo":4,)"
          R"("DomainID":7},"DataSets":[[{"I":27,"V":"2001:db8::1"},{"I":85,"V":70},{"I":152,"V":1700000000500}]]})"),
      FlowRefusal::kNone)
      << decoder.problem();
  EXPECT_EQ(batch.exporter.family, 6);
  EXPECT_EQ(batch.records.at(0).bytes, 70u);
  EXPECT_EQ(batch.records.at(0).start, 1700000000500);
}

TEST_F(FlowJson, WhatIsWrongIsSaidWithItsKey) {
  EXPECT_EQ(decode("{"), FlowRefusal::kNotJson);
  EXPECT_EQ(decode("[1]"), FlowRefusal::kNotJson);
  EXPECT_EQ(decode(R"({"network":"a","values":[[1]]})"), FlowRefusal::kUnknownDialect);
  EXPECT_EQ(decode(R"({"ip_src":"10.0.0.300","bytes":1})"), FlowRefusal::kBadField);
  EXPECT_EQ(decoder.problem(), "ip_src: not an address");
  EXPECT_EQ(decode(R"({"ip_src":"10.0.0.3","bytes":-1})"), FlowRefusal::kBadField);
  EXPECT_EQ(decoder.problem(), "bytes: not a whole number");
  EXPECT_EQ(decode(R"({"ip_src":"10.0.0.3","bytes":1,"mask_src":300})"), FlowRefusal::kBadField);
  EXPECT_EQ(decoder.problem(), "mask_src: too large");
  EXPECT_TRUE(batch.records.empty());
}

}  // namespace
}  // namespace outlierd::ingest
