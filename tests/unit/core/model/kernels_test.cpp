// The products and masked sums, in both builds, against plain loops; solve_rows has a file of its
// own.

#include "core/model/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/model/packed.h"
#include "tests/support/random.h"
#include "tests/support/strided.h"

namespace outlierd::model {
namespace {

using test::expect_gaps_untouched;
using test::KernelsTest;
using test::kUntouched;
using test::Random;
using test::random_matrix;
using test::rounding;
using test::Strided;

// Around the steps inside the kernels: 4 doubles, 8 rows, 32 rows, 256 columns.
struct Extent {
  int rows, columns;
};
const std::vector<Extent> kExtents = {{1, 1},    {2, 3},    {3, 4},   {4, 5},   {5, 31},
                                      {7, 32},   {8, 33},   {9, 63},  {16, 64}, {17, 65},
                                      {31, 11},  {32, 100}, {33, 12}, {64, 21}, {65, 7},
                                      {70, 130}, {3, 255},  {2, 256}, {3, 257}, {5, 530}};
const std::vector<int> kRanks = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 31, 64};

TEST_P(KernelsTest, MultiplyIsRowsTimesRows) {
  Random random(1);
  for (const auto& [rows, used] : kExtents)
    for (int rank : kRanks) {
      const int gap = random.index(6), columns = padded(used);
      const Strided d = random_matrix(rows, columns, used, gap, random);
      const Strided k = random_matrix(rank, columns, used, random.index(6), random);
      Strided out(rows, rank, random.index(6), kUntouched);
      kernel_.multiply(d.data(), d.ld, rows, columns, k.data(), k.ld, rank, out.data(), out.ld);
      for (int i = 0; i < rows; ++i)
        for (int r = 0; r < rank; ++r) {
          double sum = 0.0, size = 0.0;
          for (int j = 0; j < columns; ++j) {
            sum += d.at(i, j) * k.at(r, j);
            size += std::abs(d.at(i, j) * k.at(r, j));
          }
          ASSERT_NEAR(out.at(i, r), sum, rounding(columns, size))
              << rows << " x " << used << ", rank " << rank << " at " << i << ", " << r;
        }
      expect_gaps_untouched(out);
    }
}

// Rank is rounded up to whole vectors, and those columns of k and out exist.
TEST_P(KernelsTest, MultiplyThinIsRowsTimesColumns) {
  Random random(6);
  std::vector<Extent> extents = kExtents;
  extents.push_back({5, 1030});  // more than a tile
  for (const auto& [rows, columns] : extents)
    for (int rank : kRanks) {
      const Strided d = random_matrix(rows, columns, columns, random.index(6), random);
      const Strided k = random_matrix(columns, padded(rank), rank, random.index(6), random);
      Strided out(rows, padded(rank), random.index(6), kUntouched);
      kernel_.multiply_thin(d.data(), d.ld, rows, columns, k.data(), k.ld, rank, out.data(),
                            out.ld);
      for (int i = 0; i < rows; ++i)
        for (int r = 0; r < padded(rank); ++r) {
          double sum = 0.0, size = 0.0;
          for (int j = 0; j < columns; ++j) {
            sum += d.at(i, j) * k.at(j, r);
            size += std::abs(d.at(i, j) * k.at(j, r));
          }
          ASSERT_NEAR(out.at(i, r), sum, rounding(columns, size))
              << rows << " x " << columns << ", rank " << rank << " at " << i << ", " << r;
        }
      expect_gaps_untouched(out);
    }
}

TEST_P(KernelsTest, MultiplyTransposedAddsColumnsTimesColumns) {
  Random random(2);
  for (const auto& [rows, used] : kExtents)
    for (int rank : kRanks) {
      const int columns = padded(used);
      const Strided d = random_matrix(rows, columns, used, random.index(6), random);
      const Strided x = random_matrix(rows, rank, rank, random.index(6), random);
      Strided z(rank, columns, random.index(6), kUntouched);
      Strided before(rank, columns, 0, 0.0);
      for (int r = 0; r < rank; ++r)
        for (int j = 0; j < columns; ++j) z.at(r, j) = before.at(r, j) = random.normal();
      kernel_.multiply_transposed(d.data(), d.ld, rows, columns, x.data(), x.ld, rank, z.data(),
                                  z.ld);
      for (int r = 0; r < rank; ++r)
        for (int j = 0; j < columns; ++j) {
          double sum = before.at(r, j), size = std::abs(sum);
          for (int i = 0; i < rows; ++i) {
            sum += d.at(i, j) * x.at(i, r);
            size += std::abs(d.at(i, j) * x.at(i, r));
          }
          ASSERT_NEAR(z.at(r, j), sum, rounding(rows, size))
              << rows << " x " << used << ", rank " << rank << " at " << r << ", " << j;
        }
      expect_gaps_untouched(z);
    }
}

TEST_P(KernelsTest, SubtractLowRankTakesTheProductFromTheBaseOrFromZero) {
  Random random(3);
  for (const auto& [rows, used] : kExtents)
    for (int rank : {0, 1, 2, 3, 5, 8, 10, 17, 64})
      for (bool has_base : {true, false}) {
        const int columns = padded(used);
        const Strided base = random_matrix(rows, columns, used, random.index(6), random);
        const Strided x = random_matrix(rows, rank + 1, rank, random.index(6), random);
        const Strided k = random_matrix(rank + 1, columns, used, random.index(6), random);
        Strided out(rows, columns, random.index(6), kUntouched);
        kernel_.subtract_low_rank(has_base ? base.data() : nullptr, has_base ? base.ld : 0, rows,
                                  columns, x.data(), x.ld, k.data(), k.ld, rank, out.data(),
                                  out.ld);
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < columns; ++j) {
            double value = has_base ? base.at(i, j) : 0.0, size = std::abs(value);
            for (int r = 0; r < rank; ++r) {
              value -= x.at(i, r) * k.at(r, j);
              size += std::abs(x.at(i, r) * k.at(r, j));
            }
            ASSERT_NEAR(out.at(i, j), value, rounding(rank, size))
                << rows << " x " << used << ", rank " << rank << " at " << i << ", " << j;
            if (j >= used) {
              ASSERT_EQ(out.at(i, j), 0.0) << "padding";
            }
          }
        expect_gaps_untouched(out);
      }
}

TEST_P(KernelsTest, SubtractLowRankMayWriteOverItsBase) {
  Random random(4);
  const int rows = 9, columns = 300, rank = 5;
  Strided base = random_matrix(rows, columns, columns, 0, random);
  const Strided x = random_matrix(rows, rank, rank, 0, random);
  const Strided k = random_matrix(rank, columns, columns, 0, random);
  Strided out(rows, columns, 0, kUntouched);
  kernel_.subtract_low_rank(base.data(), base.ld, rows, columns, x.data(), x.ld, k.data(), k.ld,
                            rank, out.data(), out.ld);
  kernel_.subtract_low_rank(base.data(), base.ld, rows, columns, x.data(), x.ld, k.data(), k.ld,
                            rank, base.data(), base.ld);
  EXPECT_EQ(base.cells, out.cells);
}

TEST_P(KernelsTest, NoKernelNeedsAlignedMemory) {
  Random random(5);
  const int rows = 5, columns = 16, rank = 3;
  std::vector<double> d(rows * columns + 1), k(rank * columns + 1), out(rows * rank + 1);
  for (double& x : d) x = random.normal();
  for (double& x : k) x = random.normal();
  kernel_.multiply(d.data() + 1, columns, rows, columns, k.data() + 1, columns, rank,
                   out.data() + 1, rank);
  double sum = 0.0;
  for (int j = 0; j < columns; ++j) sum += d[1 + j] * k[1 + j];
  EXPECT_NEAR(out[1], sum, 1e-13);
}

TEST_P(KernelsTest, SquarePeaksAreTheSumAndTheLargestSquareOfEachBlock) {
  Random random(12);
  for (int n : {4, 8, 60, 64, 68, 124, 128, 132, 256, 1000}) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (double& value : x) value = random.normal();
    const int blocks = (n + kPeakBlock - 1) / kPeakBlock;
    std::vector<double> largest(static_cast<std::size_t>(blocks), 0.0);
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
      sum += x[i] * x[i];
      largest[i / kPeakBlock] = std::max(largest[i / kPeakBlock], x[i] * x[i]);
    }
    std::vector<double> peaks(largest.size(), kUntouched);
    EXPECT_NEAR(kernel_.square_peaks(x.data(), n, peaks.data()), sum, rounding(n, sum));
    EXPECT_EQ(peaks, largest) << n;
  }
}

// The mask of `rows` rows: each column observed with probability `share`.
std::vector<std::uint64_t> random_bits(int rows, int columns, int words, double share,
                                       Random& random) {
  std::vector<std::uint64_t> bits(std::size_t(rows) * words, 0);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      if (random.chance(share))
        bits[std::size_t(i) * words + j / kBitsInWord] |= std::uint64_t{1} << (j % kBitsInWord);
  return bits;
}

TEST_P(KernelsTest, MaskedSumsAddTheMomentsOfObservedColumns) {
  Random random(6);
  const std::vector<double> shares = {0.0, 0.05, 0.5, 0.95, 1.0};
  for (int rows : {1, 7, 8, 9, 23})
    for (int columns : {1, 5, 63, 64, 65, 127, 128, 150})
      for (int rank : {1, 2, 3, 5, 10, 11, 24}) {  // 11 and 24 take more than one chunk
        const int packed = padded(packed_size(rank));
        const int words = (columns + kBitsInWord - 1) / kBitsInWord;
        const Strided moments = random_matrix(columns, packed, packed, random.index(6), random);
        Strided word_sums(words, packed, random.index(6), 0.0);
        for (int j = 0; j < columns; ++j)
          for (int p = 0; p < packed; ++p) word_sums.at(j / kBitsInWord, p) += moments.at(j, p);

        std::vector<std::vector<std::uint64_t>> masks;
        std::vector<const std::uint64_t*> bits;
        for (double share : shares)
          masks.push_back(random_bits(rows, columns, words, share, random));
        for (const auto& mask : masks) bits.push_back(mask.data());
        const int begin = random.index(rows), end = begin + 1 + random.index(rows - begin);
        const int slices = int(shares.size());
        std::vector<Strided> sums(slices,
                                  Strided(end - begin, packed, random.index(6), kUntouched));
        std::vector<double*> out;
        for (Strided& sum : sums) out.push_back(sum.data());
        const int skipped = random.index(slices);
        out[skipped] = nullptr;

        kernel_.masked_sums(bits.data(), words, slices, begin, end, columns, moments.data(),
                            moments.ld, word_sums.data(), word_sums.ld, packed, out.data(),
                            sums[0].ld);
        for (int s = 0; s < slices; ++s) {
          for (int i = begin; i < end && s != skipped; ++i)
            for (int p = 0; p < packed; ++p) {
              double sum = 0.0, size = 0.0;
              for (int j = 0; j < columns; ++j) {
                size += std::abs(moments.at(j, p));  // unobserved ones may be added and taken away
                if (masks[s][std::size_t(i) * words + j / kBitsInWord] >> (j % kBitsInWord) & 1)
                  sum += moments.at(j, p);
              }
              ASSERT_NEAR(sums[s].at(i - begin, p), sum, rounding(columns, 2.0 * size))
                  << rows << " x " << columns << ", rank " << rank << ", slice " << s << " at " << i
                  << ", " << p;
            }
          expect_gaps_untouched(sums[s]);
        }
        for (double cell : sums[skipped].cells) ASSERT_EQ(cell, kUntouched);
      }
}

// Nothing observed is exactly zero, not a small difference of large sums: V is then the prior's.
TEST_P(KernelsTest, MaskedSumsOfNothingAreExactlyZeroAndOfAllTheWordSums) {
  Random random(7);
  const int columns = 130, packed = 8, words = 3;
  const Strided moments = random_matrix(columns, packed, packed, 0, random);
  Strided word_sums(words, packed, 0, 0.0);
  for (int j = 0; j < columns; ++j)
    for (int p = 0; p < packed; ++p) word_sums.at(j / kBitsInWord, p) += moments.at(j, p);
  const std::vector<std::uint64_t> bits = {0, 0, 0, ~std::uint64_t{0}, ~std::uint64_t{0}, 3};
  const std::uint64_t* mask = bits.data();
  std::vector<double> sums(2 * packed, kUntouched);
  double* out = sums.data();
  kernel_.masked_sums(&mask, words, 1, 0, 2, columns, moments.data(), moments.ld, word_sums.data(),
                      word_sums.ld, packed, &out, packed);
  for (int p = 0; p < packed; ++p) {
    EXPECT_EQ(sums[p], 0.0);
    EXPECT_EQ(sums[packed + p], word_sums.at(0, p) + word_sums.at(1, p) + word_sums.at(2, p));
  }
}

INSTANTIATE_TEST_SUITE_P(, KernelsTest, test::both_kernels(), test::name_of_choice);

}  // namespace
}  // namespace outlierd::model
