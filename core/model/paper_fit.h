#pragma once
// The printed rules (Hawkins & Zhang 2018), for comparison: every slice starts cold from the raw
// window, the sparse part of the newest slice is Gaussian with a precision of its own a cell
// (M6-M7, flat priors), lambda counts 1/2 sum I_n + 1, tau sees the newest slice only. The unit of
// the data matters here, as it does there: nothing is normalised.

#include "core/model/mean_field.h"
#include "core/model/options.h"
#include "core/model/sparse.h"

namespace outlierd::model {

class PaperFit {
 public:
  PaperFit(const SliceShape& shape, const FactorizerOptions& options, MeanField& mean_field);

  // Fits q to the window; S and Var[S] of the newest slice are kept. With a tolerance of zero, runs
  // exactly cold_sweeps sweeps, else stops on the relative change of the bound, after five. The
  // newest slice's values are Y before and after. False when there is no finite answer.
  bool fit(Posterior& q, const WindowView& view, int& sweeps);

  const std::vector<SparseCell>& sparse() const { return sparse_; }  // padded layout
  const std::vector<double>& sparse_precision() const { return gamma_; }

 private:
  void start(Posterior& q, const WindowView& view);
  bool sweep(Posterior& q, const WindowView& view);

  SliceShape shape_;
  const FactorizerOptions& options_;
  MeanField& mean_field_;
  std::vector<SparseCell> sparse_;
  std::vector<double> gamma_;
  AlignedDoubles y_, residual_;
};

}  // namespace outlierd::model
