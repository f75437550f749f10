// Every kernel, in both builds, against plain loops. Arrays end where the last element that a
// kernel may touch ends, so that the address sanitizer sees one step too far.

#include "core/model/kernels.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/model/packed.h"
#include "tests/support/naive_model.h"
#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::Random;

constexpr double kUntouched = -12345.0;  // stands where no kernel may write

// A matrix of rows at a distance of `ld`, nothing behind the last element of the last row.
struct Strided {
  std::ptrdiff_t ld;
  int rows, columns;
  std::vector<double> cells;

  Strided(int rows_in, int columns_in, int gap, double fill)
      : ld(columns_in + gap),
        rows(rows_in),
        columns(columns_in),
        cells(std::size_t((rows_in - 1) * ld + columns_in), fill) {}

  double& at(int i, int j) { return cells[std::size_t(i * ld + j)]; }
  double at(int i, int j) const { return cells[std::size_t(i * ld + j)]; }
  double* data() { return cells.data(); }
  const double* data() const { return cells.data(); }
};

// Random in the first `used` columns, zero in the others; what lies in the gaps is NaN, so that a
// kernel that reads it is found out.
Strided random_matrix(int rows, int columns, int used, int gap, Random& random) {
  Strided m(rows, columns, gap, std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) m.at(i, j) = j < used ? random.normal() : 0.0;
  return m;
}

void expect_gaps_untouched(const Strided& m) {
  for (int i = 0; i + 1 < m.rows; ++i)
    for (std::ptrdiff_t j = m.columns; j < m.ld; ++j)
      ASSERT_EQ(m.cells[std::size_t(i * m.ld + j)], kUntouched) << "row " << i << ", gap " << j;
}

// Two orders of adding n products differ by at most n machine epsilons of the sum of their sizes.
double rounding(int n, double size) { return 2.3e-16 * (n + 4) * size; }

using Choice = const Kernels& (*)();

class KernelsTest : public testing::TestWithParam<Choice> {
 protected:
  const Kernels& kernel_ = GetParam()();
};

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

// n systems of one rank, packed, with gaps of NaN where nothing may be read.
struct Systems {
  int n, rank;
  std::vector<Eigen::MatrixXd> matrices;
  Strided precision, rhs;

  Systems(int n_in, int rank_in, Random& random)
      : n(n_in),
        rank(rank_in),
        precision(n_in, packed_size(rank_in), random.index(6), std::nan("")),
        rhs(n_in, rank_in, random.index(6), std::nan("")) {
    for (int i = 0; i < n; ++i) {
      set(i, test::random_covariance(rank, 10.0, 0.5, random));
      for (int r = 0; r < rank; ++r) rhs.at(i, r) = random.normal();
    }
  }
  void set(int i, const Eigen::MatrixXd& matrix) {
    if (i >= int(matrices.size())) matrices.resize(i + 1);
    matrices[i] = matrix;
    for (int r = 0; r < rank; ++r)
      for (int s = 0; s <= r; ++s) precision.at(i, packed_index(r, s)) = matrix(r, s);
  }
};

TEST_P(KernelsTest, SolveRowsIsEigensCholesky) {
  Random random(8);
  for (int n : {1, 2, 3, 4, 5, 8, 9, 70})
    for (int rank : {1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 63, 64}) {
      const Systems systems(n, rank, random);
      Strided mean(n, rank, random.index(6), kUntouched);
      Strided moment(n, packed_size(rank), random.index(6), kUntouched);
      ASSERT_TRUE(kernel_.solve_rows(n, rank, systems.precision.data(), systems.precision.ld,
                                     systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld,
                                     moment.data(), moment.ld));
      for (int i = 0; i < n; ++i) {
        const Eigen::LLT<Eigen::MatrixXd> cholesky(systems.matrices[i]);
        const Eigen::MatrixXd v = cholesky.solve(Eigen::MatrixXd::Identity(rank, rank));
        Eigen::VectorXd b(rank);
        for (int r = 0; r < rank; ++r) b(r) = systems.rhs.at(i, r);
        const Eigen::VectorXd a = cholesky.solve(b);
        // Condition numbers stay below 100, so twelve digits are left of sixteen.
        const double size = 1e-12 * (v.norm() * (1.0 + b.norm()) + a.squaredNorm());
        for (int r = 0; r < rank; ++r) {
          ASSERT_NEAR(mean.at(i, r), a(r), size) << "rank " << rank << ", row " << i << " of " << n;
          for (int s = 0; s <= r; ++s)
            ASSERT_NEAR(moment.at(i, packed_index(r, s)), v(r, s) + a(r) * a(s), size)
                << "rank " << rank << ", row " << i << " of " << n;
        }
      }
      expect_gaps_untouched(mean);
      expect_gaps_untouched(moment);
    }
}

TEST_P(KernelsTest, SolveRowsMayWriteTheMomentsOverThePrecisions) {
  Random random(9);
  for (int n : {1, 3, 4, 6, 9})
    for (int rank : {1, 4, 10}) {
      const Systems systems(n, rank, random);
      Strided mean(n, rank, 0, kUntouched), mean_in_place = mean;
      Strided moment(n, packed_size(rank), 0, kUntouched);
      Strided in_place = systems.precision;
      ASSERT_TRUE(kernel_.solve_rows(n, rank, systems.precision.data(), systems.precision.ld,
                                     systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld,
                                     moment.data(), moment.ld));
      ASSERT_TRUE(kernel_.solve_rows(n, rank, in_place.data(), in_place.ld, systems.rhs.data(),
                                     systems.rhs.ld, mean_in_place.data(), mean_in_place.ld,
                                     in_place.data(), in_place.ld));
      EXPECT_EQ(mean.cells, mean_in_place.cells);
      for (int i = 0; i < n; ++i)
        for (int p = 0; p < packed_size(rank); ++p)
          EXPECT_EQ(moment.at(i, p), in_place.at(i, p)) << "row " << i << " of " << n;
    }
}

// Parts of a mode go to different threads: a row's answer must not depend on its neighbours.
TEST_P(KernelsTest, SolveRowsGivesARowTheSameBitsInAnyCompany) {
  Random random(10);
  const int n = 11, rank = 6;
  const Systems systems(n, rank, random);
  Strided mean(n, rank, 0, 0.0), moment(n, packed_size(rank), 0, 0.0);
  ASSERT_TRUE(kernel_.solve_rows(n, rank, systems.precision.data(), systems.precision.ld,
                                 systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld,
                                 moment.data(), moment.ld));
  for (int i = 0; i < n; ++i) {
    std::vector<double> alone(rank), alone_moment(packed_size(rank));
    ASSERT_TRUE(kernel_.solve_rows(1, rank, &systems.precision.cells[i * systems.precision.ld],
                                   systems.precision.ld, &systems.rhs.cells[i * systems.rhs.ld],
                                   systems.rhs.ld, alone.data(), rank, alone_moment.data(),
                                   packed_size(rank)));
    for (int r = 0; r < rank; ++r) EXPECT_EQ(alone[r], mean.at(i, r));
    for (int p = 0; p < packed_size(rank); ++p) EXPECT_EQ(alone_moment[p], moment.at(i, p));
  }
}

bool solves(const Kernels& kernel, const Systems& systems) {
  Strided mean(systems.n, systems.rank, 0, 0.0);
  Strided moment(systems.n, packed_size(systems.rank), 0, 0.0);
  return kernel.solve_rows(systems.n, systems.rank, systems.precision.data(), systems.precision.ld,
                           systems.rhs.data(), systems.rhs.ld, mean.data(), mean.ld, moment.data(),
                           moment.ld);
}

TEST_P(KernelsTest, SolveRowsRefusesWhatIsNotPositiveDefiniteWhereverItStands) {
  Random random(11);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (int rank : {1, 2, 3, 7, 10, 64}) {
    const Eigen::MatrixXd good = test::random_covariance(rank, 10.0, 0.5, random);
    std::vector<std::pair<std::string, Eigen::MatrixXd>> bad;
    bad.emplace_back("zero", Eigen::MatrixXd::Zero(rank, rank));
    bad.emplace_back("negative", -good);
    bad.emplace_back("all NaN", Eigen::MatrixXd::Constant(rank, rank, nan));
    for (int r : {0, rank / 2, rank - 1})
      for (double value : {-1.0, nan, infinity, -infinity}) {
        Eigen::MatrixXd matrix = good;
        matrix(r, r) = value;
        bad.emplace_back("diagonal " + std::to_string(value), matrix);
      }
    if (rank > 1) {
      bad.emplace_back("singular", Eigen::MatrixXd::Ones(rank, rank));
      for (double value : {100.0, nan, infinity}) {  // 100 exceeds the diagonal: indefinite
        Eigen::MatrixXd matrix = good;
        matrix(rank - 1, 0) = matrix(0, rank - 1) = value;
        bad.emplace_back("off the diagonal " + std::to_string(value), matrix);
      }
    }
    for (int n : {1, 4, 5, 7}) {
      Systems systems(n, rank, random);
      ASSERT_TRUE(solves(kernel_, systems));
      for (const auto& [name, matrix] : bad)
        for (int at = 0; at < n; ++at) {
          const Eigen::MatrixXd kept = systems.matrices[at];
          systems.set(at, matrix);
          EXPECT_FALSE(solves(kernel_, systems)) << name << ", rank " << rank << ", at " << at;
          systems.set(at, kept);
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, KernelsTest, testing::Values(Choice(kernels), Choice(baseline_kernels)),
                         [](const auto& choice) {
                           return choice.index == 0 ? "Best" : "Baseline";
                         });

}  // namespace
}  // namespace outlierd::model
