#pragma once
// Numbers to little-endian bytes and back, the same on every machine, with a checksum. The reader
// is total: past the end it returns zeros and failed() says so.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlierd {

template <class T>
concept PlainNumber = std::is_arithmetic_v<T>;

namespace detail {

template <std::size_t Size>
using Unsigned = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t,
                       std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

template <PlainNumber T>
void to_little_endian(T value, std::byte* out) {
  auto bits = std::bit_cast<Unsigned<sizeof(T)>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) out[i] = std::byte(bits >> (8 * i) & 0xff);
}

template <PlainNumber T>
T from_little_endian(const std::byte* in) {
  Unsigned<sizeof(T)> bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bits = Unsigned<sizeof(T)>(bits | Unsigned<sizeof(T)>(in[i]) << (8 * i));
  return std::bit_cast<T>(bits);
}

}  // namespace detail

class ByteWriter {
 public:
  template <PlainNumber T>
  void number(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    detail::to_little_endian(value, bytes_.data() + bytes_.size() - sizeof(T));
  }
  template <PlainNumber T>
  void numbers(std::span<const T> values) {
    if constexpr (std::endian::native == std::endian::little) {
      const auto bytes = std::as_bytes(values);
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    } else {
      for (T value : values) number(value);
    }
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <PlainNumber T>
  T number() {
    if (!has(sizeof(T))) return T{};
    const T value = detail::from_little_endian<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  template <PlainNumber T>
  void numbers(std::span<T> out) {
    if (!has(out.size_bytes())) return;
    for (T& value : out) {
      value = detail::from_little_endian<T>(rest_.data());
      rest_ = rest_.subspan(sizeof(T));
    }
  }
  void skip(std::size_t bytes) {
    if (has(bytes)) rest_ = rest_.subspan(bytes);
  }
  std::span<const std::byte> rest() const { return rest_; }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && rest_.empty(); }

 private:
  bool has(std::size_t bytes) {
    if (!failed_ && bytes <= rest_.size()) return true;
    failed_ = true;
    return false;
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

// CRC-64 (ECMA-182, reflected), eight bytes a step.
inline std::uint64_t crc64(std::span<const std::byte> bytes) {
  using Tables = std::array<std::array<std::uint64_t, 256>, 8>;
  static const Tables tables = [] {
    Tables made{};
    for (std::uint64_t byte = 0; byte < 256; ++byte) {
      std::uint64_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xC96C5795D7870F42ull : crc >> 1;
      made[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k)
      for (std::size_t byte = 0; byte < 256; ++byte)
        made[k][byte] = made[k - 1][byte] >> 8 ^ made[0][made[k - 1][byte] & 0xff];
    return made;
  }();
  std::uint64_t crc = ~std::uint64_t{0};
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    crc ^= detail::from_little_endian<std::uint64_t>(bytes.data());
    std::uint64_t next = 0;
    for (int k = 0; k < 8; ++k) next ^= tables[7 - k][crc >> (8 * k) & 0xff];
    crc = next;
  }
  for (std::byte byte : bytes) crc = crc >> 8 ^ tables[0][(crc ^ std::uint64_t(byte)) & 0xff];
  return ~crc;
}

}  // namespace outlierd
