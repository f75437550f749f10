#pragma once
// Big-endian numbers out of bytes. The cursor is total: past the end it gives zeros and failed()
// says so.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/traffic/flow_record.h"

namespace outlierd::ingest {

inline std::uint8_t load8(const std::byte* in) { return std::uint8_t(*in); }

inline std::uint16_t load16(const std::byte* in) {
  std::uint16_t value;
  std::memcpy(&value, in, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap16(value) : value;
}

inline std::uint32_t load32(const std::byte* in) {
  std::uint32_t value;
  std::memcpy(&value, in, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}

inline std::uint64_t load64(const std::byte* in) {
  std::uint64_t value;
  std::memcpy(&value, in, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

// A number of 0 to 8 bytes.
inline std::uint64_t load_number(const std::byte* in, std::size_t length) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < length; ++k) value = value << 8 | std::uint64_t(in[k]);
  return value;
}

inline void load_address(const std::byte* in, std::uint8_t family, IpAddress& out) {
  out.bytes = {};
  std::memcpy(out.bytes.data(), in, family == 6 ? 16 : 4);
  out.family = family;
}

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint8_t u8() { return has(1) ? load8(advance(1)) : std::uint8_t{}; }
  std::uint16_t u16() { return has(2) ? load16(advance(2)) : std::uint16_t{}; }
  std::uint32_t u32() { return has(4) ? load32(advance(4)) : std::uint32_t{}; }
  // The next bytes as they are; fewer than asked for, and failed(), at the end.
  std::span<const std::byte> bytes(std::size_t count) {
    if (!has(count)) return {};
    return {advance(count), count};
  }
  void skip(std::size_t count) {
    if (has(count)) advance(count);
  }
  std::size_t left() const { return rest_.size(); }
  std::span<const std::byte> rest() const { return rest_; }
  bool failed() const { return failed_; }

 private:
  bool has(std::size_t count) {
    if (!failed_ && count <= rest_.size()) return true;
    failed_ = true;
    rest_ = {};
    return false;
  }
  const std::byte* advance(std::size_t count) {
    const std::byte* at = rest_.data();
    rest_ = rest_.subspan(count);
    return at;
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

inline bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{}; });
}

}  // namespace outlierd::ingest
