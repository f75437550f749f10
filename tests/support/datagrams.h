#pragma once
// Datagrams of flow export, written by hand a number at a time: what tests compare decoders with.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/traffic/flow_record.h"

namespace outlierd::test {

// Big-endian bytes.
class Datagram {
 public:
  Datagram& u8(std::uint64_t value) { return number(value, 1); }
  Datagram& u16(std::uint64_t value) { return number(value, 2); }
  Datagram& u24(std::uint64_t value) { return number(value, 3); }
  Datagram& u32(std::uint64_t value) { return number(value, 4); }
  Datagram& u64(std::uint64_t value) { return number(value, 8); }
  Datagram& bytes(std::initializer_list<int> values) {
    for (int value : values) bytes_.push_back(std::byte(value));
    return *this;
  }
  Datagram& fill(std::size_t count, int value = 0) {
    bytes_.insert(bytes_.end(), count, std::byte(value));
    return *this;
  }
  Datagram& append(const Datagram& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  // A set, or an sFlow record: its number and its length, then what is in it.
  Datagram& set(std::uint16_t id, const Datagram& body) {
    return u16(id).u16(body.size() + 4).append(body);
  }
  Datagram& record(std::uint32_t kind, const Datagram& body) {
    return u32(kind).u32(body.size()).append(body);
  }
  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> span() const { return bytes_; }
  std::vector<std::byte>& raw() { return bytes_; }

 private:
  Datagram& number(std::uint64_t value, int length) {
    for (int k = length - 1; k >= 0; --k) bytes_.push_back(std::byte(value >> (8 * k) & 0xff));
    return *this;
  }
  std::vector<std::byte> bytes_;
};

struct Field {
  std::uint16_t element, length;
  std::uint32_t enterprise = 0;
};

inline Datagram template_of(std::uint16_t id, std::initializer_list<Field> fields) {
  Datagram made;
  made.u16(id).u16(fields.size());
  for (const Field& field : fields) {
    made.u16(field.enterprise ? field.element | 0x8000 : field.element).u16(field.length);
    if (field.enterprise) made.u32(field.enterprise);
  }
  return made;
}

inline constexpr std::uint32_t kUnixSeconds = 1700000000, kUptime = 1000000;

inline Datagram netflow9(std::uint32_t sequence, const Datagram& sets, std::uint32_t source = 7,
                         std::uint32_t uptime = kUptime) {
  return Datagram()
      .u16(9)
      .u16(1)
      .u32(uptime)
      .u32(kUnixSeconds)
      .u32(sequence)
      .u32(source)
      .append(sets);
}

inline Datagram ipfix(std::uint32_t sequence, const Datagram& sets, std::uint32_t domain = 7) {
  return Datagram()
      .u16(10)
      .u16(16 + sets.size())
      .u32(kUnixSeconds)
      .u32(sequence)
      .u32(domain)
      .append(sets);
}

inline IpAddress v4(int a, int b, int c, int d) {
  return {.bytes = {std::uint8_t(a), std::uint8_t(b), std::uint8_t(c), std::uint8_t(d)},
          .family = 4};
}

}  // namespace outlierd::test
