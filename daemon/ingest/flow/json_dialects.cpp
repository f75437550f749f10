#include "daemon/ingest/flow/json_dialects.h"

#include <array>
#include <cstddef>

namespace outlierd::ingest {
namespace {

using Kind = JsonKind;

#define OUTLIERD_AT(member) std::uint16_t(offsetof(FlowRecord, member))

constexpr JsonKey kPmacct[] = {
    {"peer_ip_src", Kind::kExporter},
    {"peer_ip_dst", Kind::kAddress, OUTLIERD_AT(bgp_next_hop)},
    {"ip_src", Kind::kAddress, OUTLIERD_AT(source)},
    {"ip_dst", Kind::kAddress, OUTLIERD_AT(destination)},
    {"net_src", Kind::kAddress, OUTLIERD_AT(source), 1},
    {"net_dst", Kind::kAddress, OUTLIERD_AT(destination), 1},
    {"ip_proto", Kind::kProtocolName, OUTLIERD_AT(protocol)},
    {"timestamp_start", Kind::kTimeText, OUTLIERD_AT(start)},
    {"timestamp_min", Kind::kTimeText, OUTLIERD_AT(start), 1},
    {"stamp_inserted", Kind::kTimeText, OUTLIERD_AT(start), 2},
    {"timestamp_end", Kind::kTimeText, OUTLIERD_AT(end)},
    {"timestamp_max", Kind::kTimeText, OUTLIERD_AT(end), 1},
    {"as_src", Kind::kNumber32, OUTLIERD_AT(source_as)},
    {"as_dst", Kind::kNumber32, OUTLIERD_AT(destination_as)},
    {"iface_in", Kind::kNumber32, OUTLIERD_AT(input_interface)},
    {"iface_out", Kind::kNumber32, OUTLIERD_AT(output_interface)},
    {"mask_src", Kind::kNumber8, OUTLIERD_AT(source_prefix_length)},
    {"mask_dst", Kind::kNumber8, OUTLIERD_AT(destination_prefix_length)},
    {"port_src", Kind::kNumber16, OUTLIERD_AT(source_port)},
    {"port_dst", Kind::kNumber16, OUTLIERD_AT(destination_port)},
    {"tos", Kind::kNumber8, OUTLIERD_AT(type_of_service)},
    {"sampling_rate", Kind::kNumber32, OUTLIERD_AT(sampling_rate)},
    {"export_proto_seqno", Kind::kSequence},
    {"export_proto_sysid", Kind::kDomain},
    {"flows", Kind::kNumber64, OUTLIERD_AT(flows)},
    {"packets", Kind::kNumber64, OUTLIERD_AT(packets)},
    {"bytes", Kind::kNumber64, OUTLIERD_AT(bytes)},
};

constexpr JsonKey kGoflow2[] = {
    {"sampler_address", Kind::kExporter},
    {"src_addr", Kind::kAddress, OUTLIERD_AT(source)},
    {"dst_addr", Kind::kAddress, OUTLIERD_AT(destination)},
    {"next_hop", Kind::kAddress, OUTLIERD_AT(next_hop)},
    {"bgp_next_hop", Kind::kAddress, OUTLIERD_AT(bgp_next_hop)},
    {"src_net", Kind::kPrefixLength, OUTLIERD_AT(source_prefix_length)},
    {"dst_net", Kind::kPrefixLength, OUTLIERD_AT(destination_prefix_length)},
    {"proto", Kind::kProtocolName, OUTLIERD_AT(protocol)},
    {"time_flow_start_ns", Kind::kNanoseconds, OUTLIERD_AT(start)},
    {"time_flow_end_ns", Kind::kNanoseconds, OUTLIERD_AT(end)},
    {"src_as", Kind::kNumber32, OUTLIERD_AT(source_as)},
    {"dst_as", Kind::kNumber32, OUTLIERD_AT(destination_as)},
    {"in_if", Kind::kNumber32, OUTLIERD_AT(input_interface)},
    {"out_if", Kind::kNumber32, OUTLIERD_AT(output_interface)},
    {"src_port", Kind::kNumber16, OUTLIERD_AT(source_port)},
    {"dst_port", Kind::kNumber16, OUTLIERD_AT(destination_port)},
    {"sampling_rate", Kind::kNumber32, OUTLIERD_AT(sampling_rate)},
    {"sequence_num", Kind::kSequence},
    {"observation_domain_id", Kind::kDomain},
    {"packets", Kind::kNumber64, OUTLIERD_AT(packets)},
    {"bytes", Kind::kNumber64, OUTLIERD_AT(bytes)},
};

constexpr JsonKey kNfdump[] = {
    {"ip4_router", Kind::kExporter},
    {"ip6_router", Kind::kExporter},
    {"export_sysid", Kind::kDomain},
    {"src4_addr", Kind::kAddress, OUTLIERD_AT(source)},
    {"dst4_addr", Kind::kAddress, OUTLIERD_AT(destination)},
    {"src6_addr", Kind::kAddress, OUTLIERD_AT(source)},
    {"dst6_addr", Kind::kAddress, OUTLIERD_AT(destination)},
    {"ip4_next_hop", Kind::kAddress, OUTLIERD_AT(next_hop)},
    {"ip6_next_hop", Kind::kAddress, OUTLIERD_AT(next_hop)},
    {"bgp4_next_hop", Kind::kAddress, OUTLIERD_AT(bgp_next_hop)},
    {"bgp6_next_hop", Kind::kAddress, OUTLIERD_AT(bgp_next_hop)},
    {"first", Kind::kTimeText, OUTLIERD_AT(start)},
    {"last", Kind::kTimeText, OUTLIERD_AT(end)},
    {"received", Kind::kTimeText, OUTLIERD_AT(end), 1},
    {"proto", Kind::kProtocolName, OUTLIERD_AT(protocol)},
    {"src_port", Kind::kNumber16, OUTLIERD_AT(source_port)},
    {"dst_port", Kind::kNumber16, OUTLIERD_AT(destination_port)},
    {"src_tos", Kind::kNumber8, OUTLIERD_AT(type_of_service)},
    {"src_mask", Kind::kNumber8, OUTLIERD_AT(source_prefix_length)},
    {"dst_mask", Kind::kNumber8, OUTLIERD_AT(destination_prefix_length)},
    {"src_as", Kind::kNumber32, OUTLIERD_AT(source_as)},
    {"dst_as", Kind::kNumber32, OUTLIERD_AT(destination_as)},
    {"input_snmp", Kind::kNumber32, OUTLIERD_AT(input_interface)},
    {"output_snmp", Kind::kNumber32, OUTLIERD_AT(output_interface)},
    {"direction", Kind::kDirection, OUTLIERD_AT(direction)},
    {"aggr_flows", Kind::kNumber64, OUTLIERD_AT(flows)},
    {"in_packets", Kind::kNumber64, OUTLIERD_AT(packets)},
    {"in_bytes", Kind::kNumber64, OUTLIERD_AT(bytes)},
};
#undef OUTLIERD_AT

struct Signature {
  std::string_view key;
  FlowProtocol dialect;
};
constexpr Signature kSignatures[] = {
    {"DataSets", FlowProtocol::kVflow},
    {"event_type", FlowProtocol::kPmacct},
    {"peer_ip_src", FlowProtocol::kPmacct},
    {"ip_src", FlowProtocol::kPmacct},
    {"ip_dst", FlowProtocol::kPmacct},
    {"stamp_inserted", FlowProtocol::kPmacct},
    {"time_received_ns", FlowProtocol::kGoflow2},
    {"sampler_address", FlowProtocol::kGoflow2},
    {"src_addr", FlowProtocol::kGoflow2},
    {"dst_addr", FlowProtocol::kGoflow2},
    {"in_bytes", FlowProtocol::kNfdump},
    {"in_packets", FlowProtocol::kNfdump},
    {"src4_addr", FlowProtocol::kNfdump},
    {"src6_addr", FlowProtocol::kNfdump},
};

}  // namespace

std::span<const JsonKey> keys_of(FlowProtocol dialect) {
  switch (dialect) {
    case FlowProtocol::kPmacct:
      return kPmacct;
    case FlowProtocol::kGoflow2:
      return kGoflow2;
    case FlowProtocol::kNfdump:
      return kNfdump;
    default:
      return {};
  }
}

FlowProtocol dialect_of(std::string_view key) {
  for (const Signature& each : kSignatures)
    if (each.key == key) return each.dialect;
  return FlowProtocol::kUnknown;
}

}  // namespace outlierd::ingest
