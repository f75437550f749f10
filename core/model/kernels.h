#pragma once
// The inner loops of the factorizer, for matrices that are large one way and thin the other
// (a slice of 1000 x 1000 against 10 components), where a general GEMM reaches a third of the
// machine. Each exists for AVX2/FMA and for any x86-64; the choice is made once, at run time.
//
// Pure functions on raw memory: no allocation, no state, any thread. "columns" is a multiple of
// kColumnStep and the memory behind it is zero where there is no cell. "ld" is the distance between
// rows, in elements. Packed symmetric matrices are lower triangles row by row (packed.h).

#include <cstddef>
#include <cstdint>

namespace outlierd::model {

inline constexpr int kColumnStep = 4;   // doubles in a vector
inline constexpr int kBitsInWord = 64;  // columns a mask word covers
inline constexpr int kPeakBlock = 64;   // entries that share a peak
inline constexpr int kMaxRank = 64;     // bounds the stack of solve_rows

struct Kernels {
  const char* name;

  // out[i, r] = sum_j d[i, j] k[r, j]      for i < rows, r < rank, j < columns
  void (*multiply)(const double* d, std::ptrdiff_t ldd, int rows, int columns, const double* k,
                   std::ptrdiff_t ldk, int rank, double* out, std::ptrdiff_t ldo);

  // out[i, r] = sum_j d[i, j] k[j, r]      for i < rows, r < rank rounded up to kColumnStep,
  //                                        j < columns
  void (*multiply_thin)(const double* d, std::ptrdiff_t ldd, int rows, int columns, const double* k,
                        std::ptrdiff_t ldk, int rank, double* out, std::ptrdiff_t ldo);

  // z[r, j] += sum_i d[i, j] x[i, r]       for i < rows, r < rank, j < columns
  void (*multiply_transposed)(const double* d, std::ptrdiff_t ldd, int rows, int columns,
                              const double* x, std::ptrdiff_t ldx, int rank, double* z,
                              std::ptrdiff_t ldz);

  // out[i, j] = base[i, j] - sum_r x[i, r] k[r, j]; a null base is zero
  void (*subtract_low_rank)(const double* base, std::ptrdiff_t ldb, int rows, int columns,
                            const double* x, std::ptrdiff_t ldx, const double* k,
                            std::ptrdiff_t ldk, int rank, double* out, std::ptrdiff_t ldo);

  // The sum of x^2 over n entries, and the largest of each kPeakBlock of them.
  double (*square_peaks)(const double* x, std::ptrdiff_t n, double* peaks);

  // out[s][i - row_begin, p] = sum over the set bits j of bits[s][i] of moments[j, p]
  //
  // for slices s < slices and rows i in [row_begin, row_end). Within each word of 64 columns the
  // shorter list is walked: the set bits, or the clear ones subtracted from the word's full sum
  // word_sums[w, p] (MODEL section 4, "the full Gram minus the missing cells"). A slice whose out
  // is null is skipped. packed is a multiple of kColumnStep.
  void (*masked_sums)(const std::uint64_t* const* bits, std::ptrdiff_t ldbits, int slices,
                      int row_begin, int row_end, int columns, const double* moments,
                      std::ptrdiff_t ldm, const double* word_sums, std::ptrdiff_t ldw, int packed,
                      double* const* out, std::ptrdiff_t ldo);

  // For each of n rows: V = P^-1, mean = V rhs, moment = V + mean mean', P packed in `precision`.
  // moment may be precision itself. False if some P is not numerically positive definite; what has
  // been written by then is unspecified.
  bool (*solve_rows)(int n, int rank, const double* precision, std::ptrdiff_t ldp,
                     const double* rhs, std::ptrdiff_t ldr, double* mean, std::ptrdiff_t ldmean,
                     double* moment, std::ptrdiff_t ldm);
  // Below, width is a multiple of kColumnStep.
  //
  // out[i, p] = weights[p] x[i, p]         for i < rows, p < width
  void (*weigh_rows)(int rows, int width, const double* weights, const double* x,
                     std::ptrdiff_t ldx, double* out, std::ptrdiff_t ldo);

  // out[i, p] = sum_t weights[t, p] x[t][i, p]   for t < inputs, i in [row_begin, row_end)
  void (*sum_weighted_rows)(int inputs, int row_begin, int row_end, int width,
                            const double* weights, std::ptrdiff_t ldw, const double* const* x,
                            std::ptrdiff_t ldx, double* out, std::ptrdiff_t ldo);

  // out[p] = sum_i x[i, p]
  void (*sum_rows)(int rows, int width, const double* x, std::ptrdiff_t ldx, double* out);

  // out[p] = sum_i x[i, p] y[i, p]
  void (*sum_products)(int rows, int width, const double* x, std::ptrdiff_t ldx, const double* y,
                       std::ptrdiff_t ldy, double* out);

  // moment[i] = variance + mean[i] mean[i]', packed; all three hold whole vectors
  void (*second_moments)(int rows, int rank, const double* variance, const double* mean,
                         std::ptrdiff_t ldmean, double* moment, std::ptrdiff_t ldm);

  double (*sum_of_squares)(const double* x, std::ptrdiff_t n);
};

const Kernels& kernels();           // the best this machine can run
const Kernels& baseline_kernels();  // what every machine can run

}  // namespace outlierd::model
