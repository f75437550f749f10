#pragma once
// The UDP datagrams of a capture file: pcap (either byte order, micro- or nanoseconds) and pcapng;
// Ethernet with VLAN tags, Linux cooked, loopback and raw IP; IPv4 and IPv6. Total. The bytes must
// outlive the reader.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/traffic/flow_record.h"

namespace outlierd::ingest {

struct CapturedPacket {
  std::uint64_t number = 0;  // from 1, as other tools count
  std::string_view refusal;  // why there is no datagram in it; empty if there is
  IpAddress source;
  std::uint16_t source_port = 0, destination_port = 0;
  std::span<const std::byte> payload;
};

class CaptureReader {
 public:
  static bool recognises(std::span<const std::byte> bytes);
  explicit CaptureReader(std::span<const std::byte> bytes);

  std::optional<CapturedPacket> next();
  // What was wrong with the file itself, once next() has given nothing; empty if it was whole.
  std::string_view problem() const { return problem_; }

 private:
  struct Frame {
    std::uint32_t link_type = 0;
    std::span<const std::byte> bytes;
  };
  std::uint16_t u16(std::size_t at) const;
  std::uint32_t u32(std::size_t at) const;
  std::optional<Frame> next_frame();
  std::optional<Frame> next_block();

  std::span<const std::byte> rest_;
  bool next_generation_ = false, swapped_ = false;
  std::uint32_t link_type_ = 0;                 // pcap
  std::vector<std::uint32_t> interface_types_;  // pcapng: of each interface
  std::uint64_t number_ = 0;
  std::string_view problem_;
};

}  // namespace outlierd::ingest
