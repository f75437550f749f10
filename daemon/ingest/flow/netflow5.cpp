#include "daemon/ingest/flow/netflow5.h"

#include <algorithm>

#include "daemon/ingest/flow/big_endian.h"

namespace outlierd::ingest {
namespace {

void put_address(const std::byte* in, IpAddress& out) {
  std::memcpy(out.bytes.data(), in, 4);
  out.family = 4;
}

}  // namespace

FlowRefusal decode_netflow5(std::span<const std::byte> datagram, FlowBatch& out) {
  if (datagram.size() < kNetflow5Header) return out.refusal = FlowRefusal::kTooShort;
  const std::byte* header = datagram.data();
  const std::size_t count = load16(header + 2);
  out.uptime = load32(header + 4);
  const std::uint32_t nanoseconds = std::min(load32(header + 12), 999999999u);
  out.export_time = std::int64_t(load32(header + 8)) * 1000 + nanoseconds / 1000000;
  out.sequence = load32(header + 16);
  out.domain = load16(header + 20);  // engine type and id
  out.has_sequence = out.has_uptime = true;
  if (kNetflow5Header + count * kNetflow5Record > datagram.size())
    return out.refusal = FlowRefusal::kBadLength;

  out.append(count, load16(header + 22) & 0x3fff);
  const std::byte* in = header + kNetflow5Header;
  const auto time_of = [&](const std::byte* at) {
    return out.export_time - std::int32_t(out.uptime - load32(at));
  };
  for (FlowRecord& record : out.records) {
    put_address(in, record.source);
    put_address(in + 4, record.destination);
    put_address(in + 8, record.next_hop);
    record.input_interface = load16(in + 12);
    record.output_interface = load16(in + 14);
    record.packets = load32(in + 16);
    record.bytes = load32(in + 20);
    record.start = time_of(in + 24);
    record.end = time_of(in + 28);
    record.source_port = load16(in + 32);
    record.destination_port = load16(in + 34);
    record.tcp_flags = load8(in + 37);
    record.protocol = load8(in + 38);
    record.type_of_service = load8(in + 39);
    record.source_as = load16(in + 40);
    record.destination_as = load16(in + 42);
    record.source_prefix_length = load8(in + 44);
    record.destination_prefix_length = load8(in + 45);
    in += kNetflow5Record;
  }
  return FlowRefusal::kNone;
}

}  // namespace outlierd::ingest
