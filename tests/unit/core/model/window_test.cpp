#include "core/model/window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <ostream>
#include <vector>

#include "core/model/kernels.h"
#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::Random;

// A slice whose unobserved cells hold what would do the most harm if it were read.
Slice random_slice(const SliceShape& shape, double missing, Random& random) {
  const double poison[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e308};
  Slice slice(shape);
  for (std::size_t cell = 0; cell < slice.values.size(); ++cell) {
    slice.values[cell] = poison[random.index(3)];
    if (!random.chance(missing)) slice.set(cell, random.normal());
  }
  return slice;
}

bool bit(const std::vector<std::uint64_t>& words, int row, int words_in_row, int column) {
  return words[std::size_t(row) * words_in_row + column / kBitsInWord] >> (column % kBitsInWord) &
         1;
}

int count_bits(const std::vector<std::uint64_t>& words) {
  int count = 0;
  for (std::uint64_t word : words) count += __builtin_popcountll(word);
  return count;
}

// Values, both masks and counts, cell by cell; and nothing where there is no cell.
void expect_holds(const Layout& layout, const WindowSlice& held, const Slice& slice,
                  double factor) {
  std::int64_t observed = 0;
  double squares = 0.0;
  for (int i = 0; i < layout.rows; ++i) {
    for (int j = 0; j < layout.columns; ++j) {
      const std::size_t cell = std::size_t(i) * layout.columns + j;
      const bool seen = slice.observed[cell] != 0;
      const double value = seen ? factor * slice.values[cell] : 0.0;
      ASSERT_EQ(held.values[std::size_t(i) * layout.stride + j], value) << i << ", " << j;
      ASSERT_EQ(bit(held.row_bits, i, layout.row_words, j), seen) << i << ", " << j;
      ASSERT_EQ(bit(held.column_bits, j, layout.column_words, i), seen) << i << ", " << j;
      observed += seen;
      squares += value * value;
    }
    for (int j = layout.columns; j < layout.stride; ++j)
      ASSERT_EQ(held.values[std::size_t(i) * layout.stride + j], 0.0) << "padding of row " << i;
  }
  // As many bits as cells: none beyond the last row or column.
  EXPECT_EQ(count_bits(held.row_bits), observed);
  EXPECT_EQ(count_bits(held.column_bits), observed);
  EXPECT_EQ(held.observed, observed);
  EXPECT_EQ(held.full, std::size_t(observed) == slice.values.size());
  EXPECT_NEAR(held.squares, squares, 1e-13 * squares);  // a few thousand terms, all positive
}

class WindowTest : public testing::TestWithParam<SliceShape> {};

TEST_P(WindowTest, LoadKeepsWhatWasObservedAndNothingElse) {
  Random random(1);
  Window window(GetParam(), 2, 3);
  // One slot again and again: what the slice before left must be gone.
  for (double missing : {0.0, 0.5, 0.05, 1.0, 0.95, 0.0}) {
    const Slice slice = random_slice(GetParam(), missing, random);
    const double factor = std::ldexp(1.0, random.index(20) - 10);
    window.load(slice, factor, window.staged());
    expect_holds(window.layout(), window.staged(), slice, factor);
  }
}

TEST_P(WindowTest, CommittedSlicesStandInTheirOrderAndTheOldestLeaves) {
  Random random(2);
  const int capacity = 3;
  Window window(GetParam(), capacity, 2);
  std::deque<Slice> expected;
  EXPECT_EQ(window.size(), 0);
  EXPECT_EQ(window.capacity(), capacity);
  for (int n = 0; n < 11; ++n) {
    const Slice slice = random_slice(GetParam(), 0.3, random);
    window.load(slice, 1.0, window.staged());
    // Not yet in the window: the others are as they were.
    ASSERT_EQ(window.size(), int(expected.size()));
    for (int k = 0; k < window.size(); ++k)
      expect_holds(window.layout(), window[k], expected[k], 1.0);

    if (n % 4 == 2) continue;  // a slice that failed: never committed, overwritten by the next
    window.commit();
    expected.push_back(slice);
    if (int(expected.size()) > capacity) expected.pop_front();
    ASSERT_EQ(window.size(), int(expected.size()));
    for (int k = 0; k < window.size(); ++k)
      expect_holds(window.layout(), window[k], expected[k], 1.0);
  }
}

TEST_P(WindowTest, ACommitMovesNoMemory) {
  Random random(3);
  Window window(GetParam(), 2, 2);
  for (int n = 0; n < 7; ++n) {
    window.load(random_slice(GetParam(), 0.1, random), 1.0, window.staged());
    const double* values = window.staged().values.data();
    window.commit();
    EXPECT_EQ(window[window.size() - 1].values.data(), values);
    EXPECT_NE(window.staged().values.data(), values);
  }
}

INSTANTIATE_TEST_SUITE_P(, WindowTest,
                         testing::Values(SliceShape{1}, SliceShape{6}, SliceShape{5, 7},
                                         SliceShape{1, 9}, SliceShape{64, 64}, SliceShape{65, 63},
                                         SliceShape{70, 130}, SliceShape{4, 5, 3},
                                         SliceShape{3, 4, 2, 2}));

TEST(Layout, TakesTheFirstModeAsRowsAndTheOthersTogetherAsColumns) {
  const Layout layout({70, 10, 13});
  EXPECT_EQ(layout.rows, 70);
  EXPECT_EQ(layout.columns, 130);
  EXPECT_EQ(layout.stride, 132);
  EXPECT_EQ(layout.row_words, 3);
  EXPECT_EQ(layout.column_words, 2);
  EXPECT_EQ(layout.padded_cells(), 70u * 132u);
  const Layout line({6});
  EXPECT_EQ(line.rows, 6);
  EXPECT_EQ(line.columns, 1);
  EXPECT_EQ(line.stride, 4);
}

TEST(Window, MemoryOfASliceIsAlignedToACacheLine) {
  Window window({5, 7}, 2, 3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.staged().values.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.staged().projected.data()) % 64, 0u);
}

}  // namespace
}  // namespace outlierd::model
