#include "daemon/ingest/flow/capture.h"

#include "daemon/ingest/flow/big_endian.h"

namespace outlierd::ingest {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4, kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a, kByteOrder = 0x1a2b3c4d;
constexpr std::size_t kMostInterfaces = 4096;
constexpr std::size_t kFileHeader = 24, kPacketHeader = 16;
enum LinkType : std::uint32_t {
  kNull = 0,
  kEthernet = 1,
  kRawBsd = 12,
  kRawOpenBsd = 14,
  kRaw = 101,
  kLoop = 108,
  kCooked = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kCooked2 = 276
};

// What an Ethernet type, behind any VLAN tags, leads to: the IP packet, or nothing.
Bytes behind_type(std::uint16_t type, Bytes rest) {
  while ((type == 0x8100 || type == 0x88a8 || type == 0x9100) && rest.size() >= 4) {
    type = load16(rest.data() + 2);
    rest = rest.subspan(4);
  }
  return type == 0x0800 || type == 0x86dd ? rest : Bytes{};
}

Bytes ip_packet(std::uint32_t link_type, Bytes frame) {
  switch (link_type) {
    case kEthernet:
      return frame.size() < 14 ? Bytes{}
                               : behind_type(load16(frame.data() + 12), frame.subspan(14));
    case kCooked:
      return frame.size() < 16 ? Bytes{}
                               : behind_type(load16(frame.data() + 14), frame.subspan(16));
    case kCooked2:
      return frame.size() < 20 ? Bytes{} : behind_type(load16(frame.data()), frame.subspan(20));
    case kNull:
    case kLoop:
      return frame.size() < 4 ? Bytes{} : frame.subspan(4);
    case kRaw:
    case kRawBsd:
    case kRawOpenBsd:
    case kIpv4:
    case kIpv6:
      return frame;
    default:
      return {};
  }
}

void read_udp(Bytes rest, CapturedPacket& out) {
  if (rest.size() < 8) {
    out.refusal = "is cut off inside the UDP header";
    return;
  }
  const std::size_t length = load16(rest.data() + 4);
  out.source_port = load16(rest.data());
  out.destination_port = load16(rest.data() + 2);
  if (length < 8)
    out.refusal = "has a UDP length that makes no sense";
  else if (length > rest.size())
    out.refusal = "was not captured whole";
  else
    out.payload = rest.subspan(8, length - 8);
}

void read_ipv4(Bytes packet, CapturedPacket& out) {
  const std::size_t header = packet.size() < 20 ? 0 : std::size_t(load8(packet.data()) & 15) * 4;
  if (header < 20 || header > packet.size()) {
    out.refusal = "is cut off inside the IP header";
    return;
  }
  load_address(packet.data() + 12, 4, out.source);
  if (load8(packet.data() + 9) != 17)
    out.refusal = "is not UDP";
  else if ((load16(packet.data() + 6) & 0x3fff) != 0)
    out.refusal = "is a fragment";
  else
    read_udp(packet.subspan(header), out);
}

void read_ipv6(Bytes packet, CapturedPacket& out) {
  if (packet.size() < 40) {
    out.refusal = "is cut off inside the IP header";
    return;
  }
  load_address(packet.data() + 8, 6, out.source);
  std::uint8_t next = load8(packet.data() + 6);
  Bytes rest = packet.subspan(40);
  while ((next == 0 || next == 43 || next == 60) && rest.size() >= 8) {
    const std::size_t length = 8 + std::size_t(load8(rest.data() + 1)) * 8;
    next = load8(rest.data());
    rest = length <= rest.size() ? rest.subspan(length) : Bytes{};
  }
  if (next == 44)
    out.refusal = "is a fragment";
  else if (next != 17)
    out.refusal = "is not UDP";
  else
    read_udp(rest, out);
}

}  // namespace

std::uint16_t CaptureReader::u16(std::size_t at) const {
  const std::uint16_t value = load16(rest_.data() + at);
  return swapped_ ? __builtin_bswap16(value) : value;
}

std::uint32_t CaptureReader::u32(std::size_t at) const {
  const std::uint32_t value = load32(rest_.data() + at);
  return swapped_ ? __builtin_bswap32(value) : value;
}

bool CaptureReader::recognises(Bytes bytes) {
  if (bytes.size() < 4) return false;
  const std::uint32_t magic = load32(bytes.data()), other = __builtin_bswap32(magic);
  return magic == kSectionHeader || magic == kMicroseconds || magic == kNanoseconds ||
         other == kMicroseconds || other == kNanoseconds;
}

CaptureReader::CaptureReader(Bytes bytes) : rest_(bytes) {
  if (!recognises(bytes)) {
    problem_ = "is not a capture file";
    rest_ = {};
    return;
  }
  const std::uint32_t magic = load32(bytes.data());
  next_generation_ = magic == kSectionHeader;
  if (next_generation_) return;
  swapped_ = magic != kMicroseconds && magic != kNanoseconds;
  if (bytes.size() < kFileHeader) {
    problem_ = "is cut off inside its header";
    rest_ = {};
    return;
  }
  link_type_ = u32(20) & 0xffff;
  rest_ = rest_.subspan(kFileHeader);
}

std::optional<CaptureReader::Frame> CaptureReader::next_frame() {
  if (next_generation_) return next_block();
  if (rest_.empty()) return std::nullopt;
  const std::size_t length = rest_.size() < kPacketHeader ? 0 : u32(8);
  if (rest_.size() < kPacketHeader || length > rest_.size() - kPacketHeader) {
    problem_ = "is cut off inside a packet";
    rest_ = {};
    return std::nullopt;
  }
  const Frame frame{link_type_, rest_.subspan(kPacketHeader, length)};
  rest_ = rest_.subspan(kPacketHeader + length);
  return frame;
}

std::optional<CaptureReader::Frame> CaptureReader::next_block() {
  enum Block : std::uint32_t { kInterface = 1, kSimplePacket = 3, kEnhancedPacket = 6 };
  while (!rest_.empty()) {
    if (rest_.size() >= 12 && load32(rest_.data()) == kSectionHeader) {
      swapped_ = load32(rest_.data() + 8) != kByteOrder;
      interface_types_.clear();
    }
    const std::size_t length = rest_.size() < 12 ? 0 : u32(4);
    if (length < 12 || length % 4 != 0 || length > rest_.size()) {
      problem_ = "is cut off inside a block";
      rest_ = {};
      return std::nullopt;
    }
    std::optional<Frame> frame;
    const std::uint32_t kind = u32(0);
    if (kind == kInterface && length >= 20 && interface_types_.size() < kMostInterfaces)
      interface_types_.push_back(u16(8));
    if (kind == kEnhancedPacket && length >= 32) {
      const std::size_t interface = u32(8), captured = u32(20);
      if (interface < interface_types_.size() && captured <= length - 32)
        frame = Frame{interface_types_[interface], rest_.subspan(28, captured)};
    }
    if (kind == kSimplePacket && length >= 16 && !interface_types_.empty())
      frame =
          Frame{interface_types_[0], rest_.subspan(12, std::min<std::size_t>(u32(8), length - 16))};
    rest_ = rest_.subspan(length);
    if (frame) return frame;
  }
  return std::nullopt;
}

std::optional<CapturedPacket> CaptureReader::next() {
  const auto frame = next_frame();
  if (!frame) return std::nullopt;
  CapturedPacket packet;
  packet.number = ++number_;
  const Bytes ip = ip_packet(frame->link_type, frame->bytes);
  const int version = ip.empty() ? 0 : load8(ip.data()) >> 4;
  if (version == 4)
    read_ipv4(ip, packet);
  else if (version == 6)
    read_ipv6(ip, packet);
  else
    packet.refusal = "is not an IP packet";
  return packet;
}

}  // namespace outlierd::ingest
