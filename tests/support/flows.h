#pragma once
// Addresses and flow records for tests, short to write.

#include <cstdint>

#include "core/traffic/flow_record.h"

namespace outlierd::test {

inline IpAddress four(std::uint32_t bits) {
  IpAddress address;
  address.family = 4;
  for (std::size_t k = 0; k < 4; ++k) address.bytes[k] = std::uint8_t(bits >> (24 - 8 * k));
  return address;
}
inline IpAddress four(int a, int b, int c, int d) {
  return four(std::uint32_t(a) << 24 | std::uint32_t(b) << 16 | std::uint32_t(c) << 8 |
              std::uint32_t(d));
}
inline IpAddress six(std::uint64_t high, std::uint64_t low) {
  IpAddress address;
  address.family = 6;
  for (std::size_t k = 0; k < 8; ++k) {
    address.bytes[k] = std::uint8_t(high >> (56 - 8 * k));
    address.bytes[8 + k] = std::uint8_t(low >> (56 - 8 * k));
  }
  return address;
}

// Unsampled, 100 bytes in one packet.
inline FlowRecord flow(const IpAddress& source, const IpAddress& destination, std::int64_t start,
                       std::int64_t end) {
  FlowRecord record;
  record.source = source;
  record.destination = destination;
  record.start = start;
  record.end = end;
  record.bytes = 100;
  record.packets = 1;
  record.sampling_rate = 1;
  return record;
}

}  // namespace outlierd::test
