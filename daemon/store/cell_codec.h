#pragma once
// Six float32 values a cell (observed, expected, low, high, sparse, score) to bytes and back, bit
// for bit. The bytes of equal weight stand together, and each such plane is compressed by itself
// (zstd): signs and exponents nearly vanish, the last bits of mantissas are stored as they are.
//
//   u8 version | u32 cells | 4 planes, most significant first: u32 length, bytes
//
// Keeps its work space; one object, one thread at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/store/error.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace outlierd::store {

enum CellValue { kObserved, kExpected, kLow, kHigh, kSparse, kScore, kCellValues };

class CellCodec {
 public:
  CellCodec();
  ~CellCodec();
  CellCodec(CellCodec&&) noexcept;
  CellCodec& operator=(CellCodec&&) noexcept;

  // All of one length. The result is valid until the next call.
  std::span<const std::byte> encode(const std::array<std::span<const float>, kCellValues>& values);

  // Keeps what it decoded until the next call. kDamaged unless it is a block of that many cells.
  Outcome<void> decode(std::span<const std::byte> bytes, std::size_t cells);
  float value(CellValue which, std::size_t cell) const;

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> compressor_;
  std::unique_ptr<ZSTD_DCtx_s, Free> decompressor_;
  std::vector<std::byte> planes_, packed_;
  std::size_t cells_ = 0;
};

}  // namespace outlierd::store
