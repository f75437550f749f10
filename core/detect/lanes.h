#pragma once
// Four neighbouring cells at once. A formula is written once, for a place in the columns, and runs
// over whole groups of four and over the few that are left at the end of a range.
//
// Only operations that every machine rounds the same way: a cell's result does not depend on the
// group it is in. highest(), lowest() and clamped() choose as std::max, std::min and std::clamp do.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace outlierd::detect {

using Lanes = float __attribute__((vector_size(16)));
using LaneMask = std::int32_t __attribute__((vector_size(16)));  // -1 where it holds, else 0
inline constexpr std::size_t kLanes = 4;

struct FourCells {
  std::size_t cell;
  static constexpr std::size_t count = kLanes;
};
struct FewCells {  // fewer than four; the other lanes are zero and are not stored
  std::size_t cell, count;
};

// f(at) for places that together are all of [begin, end).
template <class F>
inline void for_lanes(std::size_t begin, std::size_t end, const F& f) {
  std::size_t cell = begin;
  for (; cell + kLanes <= end; cell += kLanes) f(FourCells{cell});
  if (cell < end) f(FewCells{cell, end - cell});
}

inline Lanes load(const float* column, FourCells at) {
  using Anywhere = float __attribute__((vector_size(16), aligned(4)));
  return *reinterpret_cast<const Anywhere*>(column + at.cell);
}
inline Lanes load(const float* column, FewCells at) {
  Lanes value = {};
  for (std::size_t k = 0; k < at.count; ++k) value[k] = column[at.cell + k];
  return value;
}
inline void store(float* column, FourCells at, Lanes value) {
  using Anywhere = float __attribute__((vector_size(16), aligned(4)));
  *reinterpret_cast<Anywhere*>(column + at.cell) = value;
}
inline void store(float* column, FewCells at, Lanes value) {
  for (std::size_t k = 0; k < at.count; ++k) column[at.cell + k] = value[k];
}

inline LaneMask load(const std::int32_t* column, FourCells at) {
  using Anywhere = std::int32_t __attribute__((vector_size(16), aligned(4)));
  return *reinterpret_cast<const Anywhere*>(column + at.cell);
}
inline LaneMask load(const std::int32_t* column, FewCells at) {
  LaneMask value = {};
  for (std::size_t k = 0; k < at.count; ++k) value[k] = column[at.cell + k];
  return value;
}
template <class At>
inline void store(std::int32_t* column, At at, LaneMask value) {
  std::memcpy(column + at.cell, &value, at.count * sizeof(std::int32_t));
}

// Bytes as numbers.
template <class At>
inline LaneMask load_bytes(const std::uint8_t* column, At at) {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  using Halves = std::uint16_t __attribute__((vector_size(16)));
  std::uint32_t word = 0;
  std::memcpy(&word, column + at.cell, at.count);
  const auto bytes = Bytes(LaneMask{std::int32_t(word), 0, 0, 0});
  const auto halves = Halves(__builtin_shufflevector(bytes, Bytes{}, 0, 16, 1, 17, 2, 18, 3, 19, 4,
                                                     20, 5, 21, 6, 22, 7, 23));
  return LaneMask(__builtin_shufflevector(halves, Halves{}, 0, 8, 1, 9, 2, 10, 3, 11));
}
// Numbers from 0 to 255.
template <class At>
inline void store_bytes(std::uint8_t* column, At at, LaneMask value) {
#if defined(__SSE2__)
  using Halves = short __attribute__((vector_size(16)));
  const auto halves = Halves(__builtin_ia32_packssdw128(value, value));
  const auto word = std::uint32_t(LaneMask(__builtin_ia32_packuswb128(halves, halves))[0]);
  std::memcpy(column + at.cell, &word, at.count);
#else
  for (std::size_t k = 0; k < at.count; ++k) column[at.cell + k] = std::uint8_t(value[k]);
#endif
}

// Numbers from 0 up in 16 bits: a float's exponent and the first eight bits of its fraction,
// rounded (within .2%).
inline std::uint16_t shortened(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return std::uint16_t((bits + 0x4000u) >> 15);
}
inline float lengthened(std::uint16_t value) {
  const std::uint32_t bits = std::uint32_t(value) << 15;
  float whole = 0.0f;
  std::memcpy(&whole, &bits, sizeof whole);
  return whole;
}
template <class At>
inline Lanes load_shortened(const std::uint16_t* column, At at) {
  using Halves = std::uint16_t __attribute__((vector_size(16)));
  Halves halves = {};
  std::memcpy(&halves, column + at.cell, at.count * sizeof(std::uint16_t));
  const auto numbers =
      LaneMask(__builtin_shufflevector(halves, Halves{}, 0, 8, 1, 9, 2, 10, 3, 11));
  return Lanes(numbers << 15);
}

using DoubleLanes = double __attribute__((vector_size(16)));  // half of four cells

inline DoubleLanes load_half(const double* column, FourCells at, std::size_t half) {
  using Anywhere = double __attribute__((vector_size(16), aligned(8)));
  return *reinterpret_cast<const Anywhere*>(column + at.cell + 2 * half);
}
inline DoubleLanes load_half(const double* column, FewCells at, std::size_t half) {
  DoubleLanes value = {};
  for (std::size_t k = 2 * half; k < std::min(2 * half + 2, at.count); ++k)
    value[k - 2 * half] = column[at.cell + k];
  return value;
}
inline void store_half(double* column, FourCells at, std::size_t half, DoubleLanes value) {
  using Anywhere = double __attribute__((vector_size(16), aligned(8)));
  *reinterpret_cast<Anywhere*>(column + at.cell + 2 * half) = value;
}
inline void store_half(double* column, FewCells at, std::size_t half, DoubleLanes value) {
  for (std::size_t k = 2 * half; k < std::min(2 * half + 2, at.count); ++k)
    column[at.cell + k] = value[k - 2 * half];
}
// The value where the mask of its half holds, else 0.
inline DoubleLanes masked_half(DoubleLanes value, LaneMask mask, std::size_t half) {
  const LaneMask wide = half == 0 ? __builtin_shufflevector(mask, mask, 0, 0, 1, 1)
                                  : __builtin_shufflevector(mask, mask, 2, 2, 3, 3);
  return DoubleLanes(LaneMask(value) & wide);
}
inline DoubleLanes half_of(Lanes value, std::size_t half) {
  return DoubleLanes{double(value[2 * half]), double(value[2 * half + 1])};
}
inline Lanes joined(DoubleLanes low, DoubleLanes high) {
  return Lanes{float(low[0]), float(low[1]), float(high[0]), float(high[1])};
}
inline DoubleLanes square_root(DoubleLanes value) {
#if defined(__SSE2__)
  return __builtin_ia32_sqrtpd(value);
#else
  return DoubleLanes{std::sqrt(value[0]), std::sqrt(value[1])};
#endif
}

inline Lanes square_root(Lanes value) {
#if defined(__SSE__)
  return __builtin_ia32_sqrtps(value);
#else
  for (std::size_t k = 0; k < kLanes; ++k) value[k] = std::sqrt(value[k]);
  return value;
#endif
}

inline Lanes splat(float value) { return Lanes{value, value, value, value}; }
inline Lanes to_float(LaneMask value) { return __builtin_convertvector(value, Lanes); }
// One bit a lane, the first lowest.
inline unsigned bits_of(LaneMask mask) {
#if defined(__SSE__)
  return unsigned(__builtin_ia32_movmskps(Lanes(mask)));
#else
  return unsigned(mask[0] & 1) | unsigned(mask[1] & 2) | unsigned(mask[2] & 4) |
         unsigned(mask[3] & 8);
#endif
}
inline bool any(LaneMask mask) { return bits_of(mask) != 0; }
inline bool all(LaneMask mask) { return bits_of(mask) == 15; }

inline Lanes choose(LaneMask mask, Lanes yes, Lanes no) { return mask ? yes : no; }
#if defined(__SSE__)  // one instruction each, that the compiler does not make of the comparison
inline Lanes highest(Lanes a, Lanes b) { return __builtin_ia32_maxps(b, a); }
inline Lanes lowest(Lanes a, Lanes b) { return __builtin_ia32_minps(b, a); }
#else
inline Lanes highest(Lanes a, Lanes b) { return a < b ? b : a; }
inline Lanes lowest(Lanes a, Lanes b) { return b < a ? b : a; }
#endif
inline Lanes clamped(Lanes value, Lanes low, Lanes high) {
  return highest(lowest(value, high), low);
}
inline constexpr std::int32_t kSignBit = std::int32_t(0x80000000u);
inline Lanes magnitude(Lanes value) { return Lanes(LaneMask(value) & ~kSignBit); }
inline Lanes with_sign(Lanes size, Lanes sign) {
  return Lanes((LaneMask(size) & ~kSignBit) | (LaneMask(sign) & kSignBit));
}

// e^x for |x| <= 80, within two units in the last place: x = n ln 2 + r, |r| <= ln 2 / 2, and the
// Taylor series of e^r.
inline Lanes exponential(Lanes x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves a whole number
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const Lanes n = (x * 1.44269504f + kRound) - kRound;
  const Lanes r = (x - n * kLn2High) - n * kLn2Low;
  Lanes sum = splat(1.0f / 5040.0f);
  for (float term : {1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f, 1.0f})
    sum = sum * r + term;
  const LaneMask power = (__builtin_convertvector(n, LaneMask) + 127) << 23;
  return sum * Lanes(power);
}

}  // namespace outlierd::detect
