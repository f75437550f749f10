#pragma once
// Symmetric matrices as packed lower triangles, row by row: entry (r, s), s <= r, is at
// r (r + 1) / 2 + s. The first k (k + 1) / 2 entries are the leading k x k block, so a component
// added at the end moves nothing.

#include "core/model/kernels.h"

namespace outlierd::model {

constexpr int packed_size(int rank) { return rank * (rank + 1) / 2; }
constexpr int packed_index(int r, int s) {
  return r >= s ? r * (r + 1) / 2 + s : s * (s + 1) / 2 + r;
}

// Rounded up to what the kernels step by.
constexpr int padded(int n) { return (n + kColumnStep - 1) / kColumnStep * kColumnStep; }

// sum_rs a_rs b_rs of two packed symmetric matrices.
inline double packed_dot(int rank, const double* a, const double* b) {
  double diagonal = 0.0, below = 0.0;
  for (int r = 0, p = 0; r < rank; ++r) {
    for (int s = 0; s < r; ++s, ++p) below += a[p] * b[p];
    diagonal += a[p] * b[p];
    ++p;
  }
  return diagonal + 2.0 * below;
}

}  // namespace outlierd::model
