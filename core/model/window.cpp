#include "core/model/window.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/model/packed.h"

namespace outlierd::model {

Layout::Layout(const SliceShape& shape)
    : rows(shape.front()),
      columns(int(cell_count(shape) / std::size_t(shape.front()))),
      stride(padded(columns)),
      row_words((columns + kBitsInWord - 1) / kBitsInWord),
      column_words((rows + kBitsInWord - 1) / kBitsInWord) {}

Window::Window(const SliceShape& shape, int capacity, int max_rank)
    : layout_(shape), capacity_(capacity), slots_(std::size_t(capacity) + 1), order_(slots_.size()) {
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
  std::fill(into.row_bits.begin(), into.row_bits.end(), 0);
  std::fill(into.column_bits.begin(), into.column_bits.end(), 0);
  into.observed = 0;
  const double* value = slice.values.data();
  const std::uint8_t* observed = slice.observed.data();
  for (int i = 0; i < layout_.rows; ++i) {
    double* row = into.values.data() + std::ptrdiff_t(i) * layout_.stride;
    std::uint64_t* words = into.row_bits.data() + std::ptrdiff_t(i) * layout_.row_words;
    const std::uint64_t row_bit = std::uint64_t{1} << (i % kBitsInWord);
    std::uint64_t* column_word = into.column_bits.data() + i / kBitsInWord;
    for (int j = 0; j < layout_.columns; ++j, ++value, ++observed) {
      const bool seen = *observed != 0;
      row[j] = seen ? *value * factor : 0.0;
      words[j / kBitsInWord] |= std::uint64_t(seen) << (j % kBitsInWord);
      if (seen) column_word[std::ptrdiff_t(j) * layout_.column_words] |= row_bit;
      into.observed += seen;
    }
  }
  into.full = into.observed == std::int64_t(layout_.rows) * layout_.columns;
  into.squares = sum_of_squares(into.values);
}

bool Window::derive(WindowSlice& slice) const {
  std::fill(slice.column_bits.begin(), slice.column_bits.end(), 0);
  slice.observed = 0;
  for (const std::uint64_t word : slice.row_bits) slice.observed += std::popcount(word);
  std::int64_t seen = 0;
  for (std::ptrdiff_t i = 0; i < layout_.rows; ++i)
    for (std::ptrdiff_t j = 0; j < layout_.columns; ++j) {
      const std::ptrdiff_t cell = i * layout_.stride + j;
      if (layout_.is_observed(slice, cell)) {
        ++seen;
        slice.column_bits[j * layout_.column_words + i / kBitsInWord] |= std::uint64_t{1}
                                                                         << (i % kBitsInWord);
      } else if (slice.values[cell] != 0.0) {
        return false;
      }
    }
  slice.full = slice.observed == std::int64_t(layout_.rows) * layout_.columns;
  slice.squares = sum_of_squares(slice.values);
  return seen == slice.observed && std::isfinite(slice.squares);
}

double sum_of_squares(const AlignedDoubles& values) {
  // Four sums side by side, or the additions wait for each other.
  double sums[4] = {};
  for (std::size_t i = 0; i + 4 <= values.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += values[i + lane] * values[i + lane];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

}  // namespace outlierd::model
