#pragma once
// Matrices with gaps between their rows, for the tests of the kernels. Arrays end where the last
// element that a kernel may touch ends, so that the address sanitizer sees one step too far.

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "core/model/kernels.h"
#include "tests/support/random.h"

namespace outlierd::test {

// Two orders of adding n products differ by at most n machine epsilons of the sum of their sizes.
inline double rounding(int n, double size) { return 2.3e-16 * (n + 4) * size; }

inline constexpr double kUntouched = -12345.0;  // stands where no kernel may write

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
inline Strided random_matrix(int rows, int columns, int used, int gap, Random& random) {
  Strided m(rows, columns, gap, std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) m.at(i, j) = j < used ? random.normal() : 0.0;
  return m;
}

inline void expect_gaps_untouched(const Strided& m) {
  for (int i = 0; i + 1 < m.rows; ++i)
    for (std::ptrdiff_t j = m.columns; j < m.ld; ++j)
      ASSERT_EQ(m.cells[std::size_t(i * m.ld + j)], kUntouched) << "row " << i << ", gap " << j;
}

using KernelChoice = const model::Kernels& (*)();

// Each test runs for the best kernels and for the baseline.
class KernelsTest : public testing::TestWithParam<KernelChoice> {
 protected:
  const model::Kernels& kernel_ = GetParam()();
};

inline std::string name_of_choice(const testing::TestParamInfo<KernelChoice>& choice) {
  return choice.index == 0 ? "Best" : "Baseline";
}

inline auto both_kernels() {
  return testing::Values(KernelChoice(model::kernels), KernelChoice(model::baseline_kernels));
}

}  // namespace outlierd::test
