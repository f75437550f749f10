#include "daemon/ingest/flow/packet_header.h"

#include "daemon/ingest/flow/big_endian.h"

namespace outlierd::ingest {
namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17, kSctp = 132;
constexpr int kMostTags = 8, kMostLabels = 16, kMostExtensions = 8;

void read_transport(std::span<const std::byte> rest, FlowRecord& out) {
  if (out.protocol != kTcp && out.protocol != kUdp && out.protocol != kSctp) return;
  if (rest.size() < 4) return;
  out.source_port = load16(rest.data());
  out.destination_port = load16(rest.data() + 2);
  if (out.protocol == kTcp && rest.size() >= 14) out.tcp_flags = load8(rest.data() + 13);
}

std::uint32_t read_ipv4(std::span<const std::byte> packet, FlowRecord& out) {
  if (packet.size() < 20) return 0;
  const std::size_t header = std::size_t(load8(packet.data()) & 15) * 4;
  if (header < 20) return 0;
  out.type_of_service = load8(packet.data() + 1);
  out.protocol = load8(packet.data() + 9);
  load_address(packet.data() + 12, 4, out.source);
  load_address(packet.data() + 16, 4, out.destination);
  const bool first_fragment = (load16(packet.data() + 6) & 0x1fff) == 0;
  if (first_fragment && packet.size() > header) read_transport(packet.subspan(header), out);
  return load16(packet.data() + 2);
}

// Hop-by-hop, routing, destination options, fragment: behind them is what is carried.
bool is_extension(std::uint8_t header) {
  return header == 0 || header == 43 || header == 44 || header == 60;
}

std::uint32_t read_ipv6(std::span<const std::byte> packet, FlowRecord& out) {
  if (packet.size() < 40) return 0;
  out.type_of_service = std::uint8_t(load16(packet.data()) >> 4);
  load_address(packet.data() + 8, 6, out.source);
  load_address(packet.data() + 24, 6, out.destination);
  std::uint8_t next = load8(packet.data() + 6);
  std::span<const std::byte> rest = packet.subspan(40);
  bool first_fragment = true;
  for (int k = 0; k < kMostExtensions && is_extension(next) && rest.size() >= 8; ++k) {
    const std::size_t length = next == 44 ? 8 : 8 + std::size_t(load8(rest.data() + 1)) * 8;
    if (next == 44) first_fragment = (load16(rest.data() + 2) & 0xfff8) == 0;
    next = load8(rest.data());
    rest = length <= rest.size() ? rest.subspan(length) : std::span<const std::byte>{};
  }
  out.protocol = next;
  if (first_fragment) read_transport(rest, out);
  return 40u + load16(packet.data() + 4);
}

}  // namespace

std::uint32_t read_ip(std::span<const std::byte> packet, FlowRecord& out) {
  if (packet.empty()) return 0;
  const int version = load8(packet.data()) >> 4;
  if (version == 4) return read_ipv4(packet, out);
  return version == 6 ? read_ipv6(packet, out) : 0;
}

std::uint32_t read_mpls(std::span<const std::byte> labels, FlowRecord& out) {
  for (int k = 0; k < kMostLabels && labels.size() >= 4; ++k) {
    const bool bottom = (load8(labels.data() + 2) & 1) != 0;
    labels = labels.subspan(4);
    if (!bottom) continue;
    // Nothing says what is carried. A first nibble of 4 or 6 is IP; of 0 a control word and an
    // Ethernet frame behind it.
    if (const std::uint32_t length = read_ip(labels, out)) return length;
    if (labels.size() > 4 && load8(labels.data()) >> 4 == 0)
      return read_ethernet(labels.subspan(4), out);
    return 0;
  }
  return 0;
}

std::uint32_t read_ethernet(std::span<const std::byte> frame, FlowRecord& out) {
  if (frame.size() < 14) return 0;
  std::uint16_t type = load16(frame.data() + 12);
  frame = frame.subspan(14);
  for (int k = 0; k < kMostTags; ++k) {
    if (type != 0x8100 && type != 0x88a8 && type != 0x9100) break;
    if (frame.size() < 4) return 0;
    type = load16(frame.data() + 2);
    frame = frame.subspan(4);
  }
  if (type == 0x0800 || type == 0x86dd) return read_ip(frame, out);
  if (type == 0x8847 || type == 0x8848) return read_mpls(frame, out);
  if (type == 0x8864 && frame.size() > 8) {  // PPPoE
    const std::uint16_t inner = load16(frame.data() + 6);
    if (inner == 0x0021 || inner == 0x0057) return read_ip(frame.subspan(8), out);
  }
  return 0;
}

}  // namespace outlierd::ingest
