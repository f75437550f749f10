// The bodies of kernels.h that walk the rows of factors: little work a number, but beside the large
// products on several threads it is what the caller would be waiting for. Included behind
// kernels_body.h, under the same rules.

namespace {

void weigh_rows(int rows, int width, const double* weights, const double* x, std::ptrdiff_t ldx,
                double* out, std::ptrdiff_t ldo) {
  for (int i = 0; i < rows; ++i)
    for (int p = 0; p < width; p += kLanes)
      store(out + i * ldo + p, load(weights + p) * load(x + i * ldx + p));
}

// Vectors vectors of the weighted sum, over all of the inputs before they are written.
template <int Vectors>
inline void sum_inputs(int inputs, const double* weights, std::ptrdiff_t ldw,
                       const double* const* x, std::ptrdiff_t offset, double* out) {
  Vector acc[Vectors] = {};
  for (int t = 0; t < inputs; ++t)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      acc[v] += load(weights + t * ldw + v * kLanes) * load(x[t] + offset + v * kLanes);
  for (int v = 0; v < Vectors; ++v) store(out + v * kLanes, acc[v]);
}

void sum_weighted_rows(int inputs, int row_begin, int row_end, int width, const double* weights,
                       std::ptrdiff_t ldw, const double* const* x, std::ptrdiff_t ldx, double* out,
                       std::ptrdiff_t ldo) {
  for (int i = row_begin; i < row_end; ++i) {
    int p = 0;
    for (; p + 3 * kLanes <= width; p += 3 * kLanes)
      sum_inputs<3>(inputs, weights + p, ldw, x, i * ldx + p, out + i * ldo + p);
    for (; p < width; p += kLanes)
      sum_inputs<1>(inputs, weights + p, ldw, x, i * ldx + p, out + i * ldo + p);
  }
}

// Two rows at a time, or the additions wait for each other.
template <bool Product>
inline void sum_over_rows(int rows, int width, const double* x, std::ptrdiff_t ldx, const double* y,
                          std::ptrdiff_t ldy, double* out) {
  const auto term = [&](int i, int p) {
    const Vector value = load(x + i * ldx + p);
    return Product ? value * load(y + i * ldy + p) : value;
  };
  for (int p = 0; p < width; p += kLanes) {
    Vector even = {}, odd = {};
    int i = 0;
    for (; i + 2 <= rows; i += 2) {
      even += term(i, p);
      odd += term(i + 1, p);
    }
    if (i < rows) even += term(i, p);
    store(out + p, even + odd);
  }
}

void sum_rows(int rows, int width, const double* x, std::ptrdiff_t ldx, double* out) {
  sum_over_rows<false>(rows, width, x, ldx, nullptr, 0, out);
}

void sum_products(int rows, int width, const double* x, std::ptrdiff_t ldx, const double* y,
                  std::ptrdiff_t ldy, double* out) {
  sum_over_rows<true>(rows, width, x, ldx, y, ldy, out);
}

void second_moments(int rows, int rank, const double* variance, const double* mean,
                    std::ptrdiff_t ldmean, double* moment, std::ptrdiff_t ldm) {
  for (int i = 0; i < rows; ++i) {
    const double* m = mean + i * ldmean;
    double* out = moment + i * ldm;
    for (int r = 0, p = 0; r < rank; p += ++r) {
      const Vector mr = spread(m[r]);
      int s = 0;
      // What a whole vector writes beyond its row of the triangle, the next row writes over.
      for (; s <= r && (r + 1 < rank || s + kLanes <= r + 1); s += kLanes)
        store(out + p + s, load(variance + p + s) + mr * load(m + s));
      for (; s <= r; ++s) out[p + s] = variance[p + s] + m[r] * m[s];
    }
  }
}

double sum_of_squares(const double* x, std::ptrdiff_t n) {
  Vector sums[4] = {};
  std::ptrdiff_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const Vector value = load(x + i + v * kLanes);
      sums[v] += value * value;
    }
  double rest = 0.0;
  for (; i < n; ++i) rest += x[i] * x[i];
  return sum((sums[0] + sums[2]) + (sums[1] + sums[3])) + rest;
}

}  // namespace
