#pragma once
// One flow as its exporter described it, whatever the protocol: plain values, nothing corrected for
// sampling. Zero means "not given" unless said otherwise. Trivially copyable, so that decoders can
// fill records by the million in a buffer that is reused.

#include <array>
#include <compare>
#include <cstdint>
#include <type_traits>

namespace outlierd {

// IPv4 in the first four bytes, the rest zero; network order.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t family = 0;  // 4, 6, or 0: none

  auto operator<=>(const IpAddress&) const = default;
};

// Where the exporter saw the flow: entering it, leaving it, or it did not say.
enum class FlowDirection : std::uint8_t { kIngress, kEgress, kUnknown };

struct FlowRecord {
  IpAddress source, destination;
  IpAddress next_hop;      // the next router: not where the flow leaves the network
  IpAddress bgp_next_hop;  // where it leaves
  IpAddress exporter;      // only when the record itself names one (a mediator's)
  FlowDirection direction = FlowDirection::kUnknown;
  std::uint8_t protocol = 0, tcp_flags = 0, type_of_service = 0;
  std::uint8_t source_prefix_length = 0, destination_prefix_length = 0;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t input_interface = 0, output_interface = 0;
  std::uint32_t source_as = 0, destination_as = 0;
  std::uint32_t sampling_rate = 0;  // one packet in so many; 1: all of them; 0: not known
  std::uint64_t bytes = 0, packets = 0, flows = 1;  // as sent
  // Milliseconds since the epoch by the exporter's clock; -1: not given (sFlow never does).
  std::int64_t start = -1, end = -1;
};
static_assert(std::is_trivially_copyable_v<FlowRecord>);

}  // namespace outlierd
