#pragma once
// The last W slices, outliers taken out (D_t of docs/model.md), in the layout of the kernels: the
// first mode as rows, all other modes together as columns; values zero where nothing was observed;
// the mask as bits, by row and by column.
//
// One slot more than W: a new slice is staged in it and only joins the window by commit(), so that
// a slice that fails leaves the window as it was. All memory is taken in the constructor.

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/traffic/slice.h"

namespace outlierd::model {

struct WindowSlice {
  AlignedDoubles values;                   // rows x Layout::stride
  std::vector<std::uint64_t> row_bits;     // rows x Layout::row_words
  std::vector<std::uint64_t> column_bits;  // columns x Layout::column_words
  std::int64_t observed = 0;               // cells
  bool full = false;                       // every cell observed
  double squares = 0.0;                    // sum of values^2
  // Caches of the updates, valid for the column factors they were made with:
  AlignedDoubles projected;    // values * K, rows x mean stride
  AlignedDoubles moment_sums;  // sum over observed columns of E[k k'], rows x moment stride
};

// How an N-way slice lies in memory.
struct Layout {
  int rows = 0, columns = 0;
  int stride = 0;                       // columns rounded up to the kernels' step
  int row_words = 0, column_words = 0;  // mask words of a row, of a column

  Layout() = default;
  explicit Layout(const SliceShape& shape);
  std::size_t padded_cells() const { return std::size_t(rows) * stride; }
  bool is_observed(const WindowSlice& slice, std::int64_t cell) const {
    const std::int64_t row = cell / stride, column = cell % stride;
    return slice.row_bits[row * row_words + column / 64] >> (column % 64) & 1;
  }
};

class Window {
 public:
  Window(const SliceShape& shape, int capacity, int max_rank);

  const Layout& layout() const { return layout_; }
  int capacity() const { return capacity_; }
  int size() const { return size_; }

  // k = 0 is the oldest, size() - 1 the newest.
  WindowSlice& operator[](int k) { return slots_[order_[k]]; }
  const WindowSlice& operator[](int k) const { return slots_[order_[k]]; }

  // The slot beside the window, to be filled by load().
  WindowSlice& staged() { return slots_[order_.back()]; }
  const WindowSlice& staged() const { return slots_[order_.back()]; }
  // The staged slice becomes the newest; the oldest leaves if the window was full.
  void commit();

  // Copies a slice into the layout, times `factor`: values, masks, counts, squares.
  void load(const Slice& slice, double factor, WindowSlice& into) const;
  // The rest of a slice from its values and row bits. False if they contradict each other: a value
  // where nothing was observed, a number that is not finite.
  bool derive(WindowSlice& slice) const;

 private:
  // Column bits, squares and whether it is full, from values, row bits and the count.
  void finish(WindowSlice& slice) const;

  Layout layout_;
  int capacity_;
  int size_ = 0;
  std::vector<WindowSlice> slots_;  // capacity + 1
  std::vector<int> order_;          // slot of each position; the last is the staged one
};

double sum_of_squares(const AlignedDoubles& values);

}  // namespace outlierd::model
