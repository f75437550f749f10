#include "core/byte_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "tests/support/random.h"

namespace outlierd {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(std::byte(value));
  return bytes;
}

TEST(ByteWriter, WritesTheLeastByteFirst) {
  ByteWriter out;
  out.number(std::uint8_t{0xab});
  out.number(std::uint16_t{0x1234});
  out.number(std::int32_t{-2});
  out.number(std::uint64_t{0x0123456789abcdef});
  out.number(1.0);    // 0x3ff0000000000000
  out.number(-2.5f);  // 0xc0200000
  EXPECT_EQ(out.take(), bytes_of({0xab, 0x34, 0x12, 0xfe, 0xff, 0xff, 0xff, 0xef, 0xcd,
                                  0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0,    0,    0,
                                  0,    0,    0,    0xf0, 0x3f, 0,    0,    0x20, 0xc0}));
}

TEST(ByteWriter, ManyNumbersAreOneAfterTheOther) {
  const std::vector<double> values = {0.0, -0.0, 1.5, 1e-310, -1e300};
  ByteWriter together, single;
  together.numbers(std::span<const double>(values));
  for (double value : values) single.number(value);
  EXPECT_EQ(together.take(), single.take());
}

TEST(ByteReader, ReadsTheLeastByteFirst) {
  const auto bytes = bytes_of({0x34, 0x12, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf});
  ByteReader in(bytes);
  EXPECT_EQ(in.number<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.number<std::int32_t>(), -2);
  EXPECT_FALSE(in.finished());
  EXPECT_EQ(in.number<double>(), -1.0);
  EXPECT_TRUE(in.finished());
  EXPECT_FALSE(in.failed());
}

template <class T>
void expect_round_trip(const std::vector<T>& values) {
  ByteWriter out;
  for (T value : values) out.number(value);
  out.numbers(std::span<const T>(values));
  const std::vector<std::byte> bytes = out.take();
  ASSERT_EQ(bytes.size(), 2 * values.size() * sizeof(T));
  ByteReader in(bytes);
  using Bits = std::array<std::byte, sizeof(T)>;  // so that NaN and -0 are compared too
  for (T value : values) EXPECT_EQ(std::bit_cast<Bits>(in.number<T>()), std::bit_cast<Bits>(value));
  std::vector<T> read(values.size());
  in.numbers(std::span<T>(read));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<Bits>(read[i]), std::bit_cast<Bits>(values[i]));
  EXPECT_TRUE(in.finished());
}

TEST(ByteStream, EveryNumberComesBackBitForBit) {
  expect_round_trip<std::uint8_t>({0, 1, 0x7f, 0x80, 0xff});
  expect_round_trip<std::int8_t>({-128, -1, 0, 127});
  expect_round_trip<std::uint16_t>({0, 1, 0xff00, 0xffff});
  expect_round_trip<std::int32_t>({std::numeric_limits<std::int32_t>::min(), -1, 0, 0x12345678});
  expect_round_trip<std::int64_t>({std::numeric_limits<std::int64_t>::min(), -1, 0, 1LL << 40});
  expect_round_trip<std::uint64_t>({0, 1, ~std::uint64_t{0}});
  expect_round_trip<float>({0.0f, -0.0f, 1e-40f, std::numeric_limits<float>::infinity()});
  expect_round_trip<double>({0.0, -0.0, 1.0, -1e308, 5e-324,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()});
}

TEST(ByteReader, PastTheEndReadsZeroAndSaysSo) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader in(bytes);
  EXPECT_EQ(in.number<std::uint16_t>(), 0x0201);
  EXPECT_EQ(in.number<std::uint32_t>(), 0u);
  EXPECT_TRUE(in.failed());
  EXPECT_FALSE(in.finished());
  // Failed for good: what would still fit is not read either, or the reader would be out of step.
  EXPECT_EQ(in.number<std::uint8_t>(), 0);
  EXPECT_EQ(in.rest().size(), 1u);
}

TEST(ByteReader, AnArrayPastTheEndIsLeftAsItWas) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5, 6, 7});
  ByteReader in(bytes);
  std::array<std::uint32_t, 2> out = {7, 8};
  in.numbers(std::span<std::uint32_t>(out));
  EXPECT_EQ(out, (std::array<std::uint32_t, 2>{7, 8}));
  EXPECT_TRUE(in.failed());
}

TEST(ByteReader, NothingIsFinishedAtOnce) {
  ByteReader in({});
  EXPECT_TRUE(in.finished());
  in.numbers(std::span<double>());
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(in.number<double>(), 0.0);
  EXPECT_TRUE(in.failed());
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The check value of CRC-64/XZ in the catalogue of parametrised CRC algorithms.
TEST(Crc64, IsTheOneOfXz) {
  EXPECT_EQ(crc64(bytes_of("123456789")), 0x995DC9BBDF1939FAull);
  EXPECT_EQ(crc64({}), 0u);
}

// The definition, bit by bit, at every length around the eight-byte step.
TEST(Crc64, IsTheDivisionOfEveryLength) {
  test::Random random(1);
  std::vector<std::byte> bytes;
  for (int length = 0; length <= 40; ++length) {
    std::uint64_t crc = ~std::uint64_t{0};
    for (std::byte byte : bytes) {
      crc ^= std::uint64_t(byte);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xC96C5795D7870F42ull : 0);
    }
    EXPECT_EQ(crc64(bytes), ~crc) << length << " bytes";
    bytes.push_back(std::byte(random.index(256)));
  }
}

TEST(Crc64, SeesEverySingleBit) {
  test::Random random(2);
  std::vector<std::byte> bytes(37);
  for (std::byte& byte : bytes) byte = std::byte(random.index(256));
  const std::uint64_t whole = crc64(bytes);
  for (std::byte& byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      byte ^= std::byte(1 << bit);
      EXPECT_NE(crc64(bytes), whole);
      byte ^= std::byte(1 << bit);
    }
}

}  // namespace
}  // namespace outlierd
