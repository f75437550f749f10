#include "daemon/ingest/flow/sflow.h"

#include "daemon/ingest/flow/big_endian.h"
#include "daemon/ingest/flow/packet_header.h"

namespace outlierd::ingest {
namespace {

// Kinds of samples and of records in them: the enterprise in the upper 20 bits, 0 throughout.
enum Sample : std::uint32_t { kFlowSample = 1, kExpandedFlowSample = 3 };
enum Record : std::uint32_t {
  kRawHeader = 1,
  kEthernetFrame = 2,
  kIpv4Packet = 3,
  kIpv6Packet = 4,
  kRouter = 1002,
  kGateway = 1003
};
enum HeaderProtocol : std::uint32_t {
  kEthernetHeader = 1,
  kIpv4Header = 11,
  kIpv6Header = 12,
  kMpls = 13
};

constexpr std::uint32_t kLocalInterface = 0x3fffffff;

struct Interface {
  std::uint32_t format = 0, index = 0;

  // An index; 0 for a packet dropped, sent to several, or from or to the device itself.
  std::uint32_t number() const { return format == 0 && index != kLocalInterface ? index : 0; }
};

IpAddress read_address(Cursor& in) {
  IpAddress address;
  const std::uint32_t kind = in.u32();
  if (kind != 1 && kind != 2) return address;
  const auto bytes = in.bytes(kind == 1 ? 4 : 16);
  if (!bytes.empty()) load_address(bytes.data(), kind == 1 ? 4 : 6, address);
  return address;
}

void read_raw_header(Cursor& in, FlowRecord& out) {
  const std::uint32_t protocol = in.u32();
  out.bytes = in.u32();
  in.skip(4);  // stripped
  const std::uint32_t length = in.u32();
  const auto header = in.bytes(length);
  if (protocol == kEthernetHeader)
    read_ethernet(header, out);
  else if (protocol == kIpv4Header || protocol == kIpv6Header)
    read_ip(header, out);
  else if (protocol == kMpls)
    read_mpls(header, out);
}

void read_sampled_ip(Cursor& in, std::uint8_t family, FlowRecord& out) {
  const std::uint32_t length = in.u32();
  if (out.bytes == 0) out.bytes = length;  // the frame's length, where it is known, is better
  out.protocol = std::uint8_t(in.u32());
  const auto source = in.bytes(family == 4 ? 4 : 16), destination = in.bytes(family == 4 ? 4 : 16);
  if (destination.empty()) return;
  load_address(source.data(), family, out.source);
  load_address(destination.data(), family, out.destination);
  out.source_port = std::uint16_t(in.u32());
  out.destination_port = std::uint16_t(in.u32());
  out.tcp_flags = std::uint8_t(in.u32());
  out.type_of_service = std::uint8_t(in.u32());
}

void read_router(Cursor& in, FlowRecord& out) {
  out.next_hop = read_address(in);
  out.source_prefix_length = std::uint8_t(in.u32());
  out.destination_prefix_length = std::uint8_t(in.u32());
}

// An empty path is a destination in the router's own network, a source of 0 likewise.
void read_gateway(Cursor& in, FlowRecord& out) {
  out.bgp_next_hop = read_address(in);
  const std::uint32_t own = in.u32(), source = in.u32();
  in.skip(4);  // the source's neighbour
  out.source_as = source != 0 ? source : own;
  out.destination_as = own;
  const std::uint32_t segments = in.u32();
  for (std::uint32_t k = 0; k < segments && !in.failed(); ++k) {
    in.skip(4);  // a set or a sequence
    const std::uint32_t length = in.u32();
    if (length > in.left() / 4) return in.skip(in.left() + 1);  // fails
    const auto path = in.bytes(length * 4);
    if (length > 0) out.destination_as = load32(path.data() + (length - 1) * 4);
  }
}

bool read_record(std::uint32_t kind, std::span<const std::byte> bytes, FlowRecord& out) {
  Cursor in(bytes);
  switch (kind) {
    case kRawHeader:
      read_raw_header(in, out);
      break;
    case kEthernetFrame:
      if (const std::uint32_t length = in.u32(); out.bytes == 0) out.bytes = length;
      break;
    case kIpv4Packet:
    case kIpv6Packet:
      read_sampled_ip(in, kind == kIpv4Packet ? 4 : 6, out);
      break;
    case kRouter:
      read_router(in, out);
      break;
    case kGateway:
      read_gateway(in, out);
      break;
    default:
      break;
  }
  return !in.failed();
}

FlowDirection direction_of(std::uint32_t source_class, std::uint32_t source_index, Interface input,
                           Interface output) {
  if (source_class != 0 || source_index == 0 || input.number() == output.number())
    return FlowDirection::kUnknown;
  if (source_index == input.number()) return FlowDirection::kIngress;
  return source_index == output.number() ? FlowDirection::kEgress : FlowDirection::kUnknown;
}

bool read_flow_sample(std::span<const std::byte> sample, bool expanded, FlowBatch& batch) {
  Cursor in(sample);
  FlowRecord out;
  in.skip(4);  // the sample's own sequence number
  std::uint32_t source_class = in.u32(), source_index = source_class & 0xffffff;
  if (expanded)
    source_index = in.u32();
  else
    source_class >>= 24;
  out.sampling_rate = in.u32();
  in.skip(8);  // pool, drops
  Interface input, output;
  if (expanded) {
    input = {in.u32(), in.u32()};
    output = {in.u32(), in.u32()};
  } else {
    const std::uint32_t from = in.u32(), to = in.u32();
    input = {from >> 30, from & 0x3fffffff};
    output = {to >> 30, to & 0x3fffffff};
  }
  out.input_interface = input.number();
  out.output_interface = output.number();
  out.direction = direction_of(source_class, source_index, input, output);
  out.packets = 1;
  const std::uint32_t records = in.u32();
  bool sound = !in.failed();
  for (std::uint32_t k = 0; sound && k < records; ++k) {
    const std::uint32_t kind = in.u32(), length = in.u32();
    const auto bytes = in.bytes(length);
    sound = !in.failed() && read_record(kind, bytes, out);
  }
  if (!sound) return false;
  if (out.source.family == 0)
    ++batch.records_ignored;
  else
    batch.records.push_back(out);
  return true;
}

}  // namespace

FlowRefusal decode_sflow(std::span<const std::byte> datagram, FlowBatch& out) {
  Cursor in(datagram);
  in.skip(4);  // version
  out.agent = read_address(in);
  out.domain = in.u32();
  out.sequence = in.u32();
  out.uptime = in.u32();
  const std::uint32_t samples = in.u32();
  if (in.failed()) return out.refusal = FlowRefusal::kTooShort;
  out.has_sequence = out.has_uptime = true;
  for (std::uint32_t k = 0; k < samples; ++k) {
    const std::uint32_t kind = in.u32(), length = in.u32();
    const auto sample = in.bytes(length);
    if (in.failed()) return out.refusal = FlowRefusal::kBadLength;
    if (kind != kFlowSample && kind != kExpandedFlowSample)
      ++out.samples_ignored;
    else if (!read_flow_sample(sample, kind == kExpandedFlowSample, out))
      out.refusal = FlowRefusal::kBadLength;
  }
  return out.refusal;
}

}  // namespace outlierd::ingest
