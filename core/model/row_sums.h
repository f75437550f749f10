#pragma once
// Sums over the rows of factors, for the files that hold MeanField.

#include <algorithm>
#include <cstddef>

#include "core/aligned.h"
#include "core/model/kernels.h"

namespace outlierd::model {

inline void add_scaled(int n, double factor, const double* x, double* y) {
  for (int p = 0; p < n; ++p) y[p] += factor * x[p];
}

inline void add_product(int n, double factor, const double* x, const double* y, double* z) {
  for (int p = 0; p < n; ++p) z[p] += factor * x[p] * y[p];
}

inline void sum_words(int rows, int n, const double* moments, std::ptrdiff_t ld,
                      AlignedDoubles& sums) {
  for (int first = 0; first < rows; first += kBitsInWord)
    kernels().sum_rows(std::min(kBitsInWord, rows - first), n, moments + first * ld, ld,
                       sums.data() + first / kBitsInWord * ld);
}

}  // namespace outlierd::model
