#include "core/model/window.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/model/packed.h"

namespace outlierd::model {
namespace {

// A 64 x 64 matrix of bits on its diagonal, by swapping ever smaller blocks (Warren, Hacker's
// Delight, 7-3, with the bits counted from the low end).
void transpose_bits(std::uint64_t (&rows)[kBitsInWord]) {
  std::uint64_t mask = 0x00000000ffffffffull;
  for (int size = kBitsInWord / 2; size != 0; size /= 2, mask ^= mask << size)
    for (int k = 0; k < kBitsInWord; k = (k + size + 1) & ~size) {
      const std::uint64_t swapped = (rows[k] >> size ^ rows[k + size]) & mask;
      rows[k] ^= swapped << size;
      rows[k + size] ^= swapped;
    }
}

}  // namespace

Layout::Layout(const SliceShape& shape)
    : rows(shape.front()),
      columns(int(cell_count(shape) / std::size_t(shape.front()))),
      stride(padded(columns)),
      row_words((columns + kBitsInWord - 1) / kBitsInWord),
      column_words((rows + kBitsInWord - 1) / kBitsInWord) {}

Window::Window(const SliceShape& shape, int capacity, int max_rank)
    : layout_(shape),
      capacity_(capacity),
      slots_(std::size_t(capacity) + 1),
      order_(slots_.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  for (WindowSlice& slot : slots_) {
    slot.values.resize(layout_.padded_cells());
    slot.row_bits.resize(std::size_t(layout_.rows) * layout_.row_words);
    slot.column_bits.resize(std::size_t(layout_.columns) * layout_.column_words);
    slot.projected.resize(std::size_t(layout_.rows) * padded(max_rank));
    slot.moment_sums.resize(std::size_t(layout_.rows) * padded(packed_size(max_rank)));
  }
}

void Window::commit() {
  const auto staged = order_.end() - 1;
  if (size_ < capacity_) {
    std::iter_swap(order_.begin() + size_, staged);
    ++size_;
  } else {
    // [oldest, ..., newest, staged] -> [..., newest, staged, oldest]
    std::rotate(order_.begin(), order_.begin() + 1, order_.end());
  }
}

void Window::load(const Slice& slice, double factor, WindowSlice& into) const {
  const double* value = slice.values.data();
  const std::uint8_t* observed = slice.observed.data();
  into.observed = 0;
  for (std::ptrdiff_t i = 0; i < layout_.rows; ++i)
    for (int word = 0; word < layout_.row_words; ++word) {
      const int width = std::min(kBitsInWord, layout_.columns - word * kBitsInWord);
      double* cells = into.values.data() + i * layout_.stride + word * kBitsInWord;
      std::uint64_t bits = 0;
      for (int j = 0; j < width; ++j) {
        const bool seen = observed[j] != 0;
        bits |= std::uint64_t(seen) << j;
        cells[j] = seen ? value[j] * factor : 0.0;
      }
      into.row_bits[i * layout_.row_words + word] = bits;
      into.observed += std::popcount(bits);
      value += width;
      observed += width;
    }
  finish(into);
}

bool Window::derive(WindowSlice& slice) const {
  slice.observed = 0;
  for (std::ptrdiff_t i = 0; i < layout_.rows; ++i)
    for (std::ptrdiff_t j = 0; j < layout_.columns; ++j) {
      const std::ptrdiff_t cell = i * layout_.stride + j;
      if (layout_.is_observed(slice, cell)) {
        ++slice.observed;
      } else if (slice.values[cell] != 0.0) {
        return false;
      }
    }
  std::int64_t bits = 0;
  for (const std::uint64_t word : slice.row_bits) bits += std::popcount(word);
  finish(slice);
  return bits == slice.observed && std::isfinite(slice.squares);
}

void Window::finish(WindowSlice& slice) const {
  slice.full = slice.observed == std::int64_t(layout_.rows) * layout_.columns;
  slice.squares = sum_of_squares(slice.values);
  std::uint64_t block[kBitsInWord];
  for (int rows = 0; rows < layout_.column_words; ++rows)
    for (int word = 0; word < layout_.row_words; ++word) {
      for (std::ptrdiff_t k = 0; k < kBitsInWord; ++k) {
        const std::ptrdiff_t row = std::ptrdiff_t(rows) * kBitsInWord + k;
        block[k] = row < layout_.rows ? slice.row_bits[row * layout_.row_words + word] : 0;
      }
      transpose_bits(block);
      const int width = std::min(kBitsInWord, layout_.columns - word * kBitsInWord);
      for (std::ptrdiff_t k = 0; k < width; ++k)
        slice.column_bits[(std::ptrdiff_t(word) * kBitsInWord + k) * layout_.column_words + rows] =
            block[k];
    }
}

double sum_of_squares(const AlignedDoubles& values) {
  return kernels().sum_of_squares(values.data(), std::ptrdiff_t(values.size()));
}

}  // namespace outlierd::model
