#include "daemon/store/cell_codec.h"

#include <zstd.h>

#include <bit>
#include <cassert>
#include <cstring>

#include "core/byte_stream.h"

namespace outlierd::store {
namespace {

constexpr std::uint8_t kCellsVersion = 1;
constexpr int kLevel = 1;
constexpr std::size_t kPlanes = sizeof(float);

}  // namespace

void CellCodec::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void CellCodec::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

CellCodec::CellCodec() : compressor_(ZSTD_createCCtx()), decompressor_(ZSTD_createDCtx()) {}
CellCodec::~CellCodec() = default;
CellCodec::CellCodec(CellCodec&&) noexcept = default;
CellCodec& CellCodec::operator=(CellCodec&&) noexcept = default;

std::span<const std::byte> CellCodec::encode(
    const std::array<std::span<const float>, kCellValues>& values) {
  const std::size_t cells = values[0].size(), plane = cells * kCellValues;
  planes_.resize(plane * kPlanes);
  std::byte* const top = planes_.data();
  for (std::size_t which = 0; which < kCellValues; ++which) {
    assert(values[which].size() == cells);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const auto bits = std::bit_cast<std::uint32_t>(values[which][cell]);
      const std::size_t at = which * cells + cell;
      top[at] = std::byte(bits >> 24);
      top[plane + at] = std::byte(bits >> 16 & 0xff);
      top[2 * plane + at] = std::byte(bits >> 8 & 0xff);
      top[3 * plane + at] = std::byte(bits & 0xff);
    }
  }
  const std::size_t room = ZSTD_compressBound(plane);
  packed_.resize(5 + kPlanes * (4 + room));
  packed_[0] = std::byte(kCellsVersion);
  detail::to_little_endian(std::uint32_t(cells), packed_.data() + 1);
  std::size_t end = 5;
  for (std::size_t k = 0; k < kPlanes; ++k) {
    std::byte* const out = packed_.data() + end + 4;
    std::size_t size =
        ZSTD_compressCCtx(compressor_.get(), out, room, top + k * plane, plane, kLevel);
    if (ZSTD_isError(size) || size >= plane) {  // a length of the plane itself: not compressed
      std::memcpy(out, top + k * plane, plane);
      size = plane;
    }
    detail::to_little_endian(std::uint32_t(size), packed_.data() + end);
    end += 4 + size;
  }
  return std::span(packed_).first(end);
}

Outcome<void> CellCodec::decode(std::span<const std::byte> bytes, std::size_t cells) {
  const auto damaged = [] {
    return failure(StoreError::Kind::kDamaged, "a block of the history is damaged");
  };
  ByteReader in(bytes);
  if (in.number<std::uint8_t>() != kCellsVersion || in.number<std::uint32_t>() != cells)
    return damaged();
  const std::size_t plane = cells * kCellValues;
  planes_.resize(plane * kPlanes);
  bytes = in.rest();
  for (std::size_t k = 0; k < kPlanes; ++k) {
    if (bytes.size() < 4) return damaged();
    const std::size_t size = detail::from_little_endian<std::uint32_t>(bytes.data());
    bytes = bytes.subspan(4);
    if (size > bytes.size() || size > plane) return damaged();
    std::byte* const out = planes_.data() + k * plane;
    if (size == plane)
      std::memcpy(out, bytes.data(), plane);
    else if (ZSTD_decompressDCtx(decompressor_.get(), out, plane, bytes.data(), size) != plane)
      return damaged();
    bytes = bytes.subspan(size);
  }
  cells_ = cells;
  return bytes.empty() ? Outcome<void>{} : damaged();
}

float CellCodec::value(CellValue which, std::size_t cell) const {
  const std::size_t at = which * cells_ + cell, plane = cells_ * kCellValues;
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < kPlanes; ++k)
    bits = bits << 8 | std::uint32_t(planes_[k * plane + at]);
  return std::bit_cast<float>(bits);
}

}  // namespace outlierd::store
