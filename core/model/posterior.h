#pragma once
// What is believed of the factors: means and second moments of every row, the precision of each
// component and of the noise. A plain value; nothing here computes an update.

#include <vector>

#include "core/aligned.h"
#include "core/model/packed.h"
#include "core/traffic/slice.h"

namespace outlierd::model {

// The rows of one factor matrix under q. Only the first `rank` components are in use.
struct FactorRows {
  int rows = 0;
  int stride = 0;         // between rows of mean
  int moment_stride = 0;  // between rows of moment
  AlignedDoubles mean;    // E[a_i]
  AlignedDoubles moment;  // E[a_i a_i'] = V_i + E[a_i] E[a_i]', packed

  FactorRows() = default;
  FactorRows(int row_count, int max_rank)
      : rows(row_count),
        stride(padded(max_rank)),
        moment_stride(padded(packed_size(max_rank))),
        mean(std::size_t(row_count) * stride, 0.0),
        moment(std::size_t(row_count) * moment_stride, 0.0) {}

  double* mean_of(int row) { return mean.data() + std::ptrdiff_t(row) * stride; }
  const double* mean_of(int row) const { return mean.data() + std::ptrdiff_t(row) * stride; }
  double* moment_of(int row) { return moment.data() + std::ptrdiff_t(row) * moment_stride; }
  const double* moment_of(int row) const {
    return moment.data() + std::ptrdiff_t(row) * moment_stride;
  }
};

struct Posterior {
  int rank = 0;                   // components in use
  std::vector<FactorRows> modes;  // A^1 .. A^N
  FactorRows time;                // c_t, the oldest slice of the window first
  std::vector<double> lambda;     // E[lambda_r], precision of component r
  double tau = 0.0;               // E[tau], precision of the noise

  Posterior() = default;
  Posterior(const SliceShape& shape, int window, int max_rank);

  // How much of the window component r carries: |a_r| |b_r| ... |c_r|, of the first `slices` rows
  // of time.
  double strength(int r, int slices) const;
  void swap_components(int r, int s);
  // Adds a component behind the others; its moments are set by the caller. False if all are in use.
  bool add_component();
  // Forgets component r; the last one takes its place.
  void drop_component(int r);

 private:
  template <class F>
  void for_all_factors(F f) {
    for (FactorRows& mode : modes) f(mode);
    f(time);
  }
};

}  // namespace outlierd::model
