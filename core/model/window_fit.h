#pragma once
// One window of slices fitted to convergence or by a few sweeps: the order of the updates, and how
// a fit begins. The order within a sweep is that of the paper:
//
//   A^1, A^2 .. A^N (M3), c_t (M4), lambda (M5), tau (M8), then the sparse part (M10 or M6-M7)
//
// Every function returns false, with q unspecified, when an update has no finite answer.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/model/components.h"
#include "core/model/mean_field.h"
#include "core/model/options.h"
#include "core/model/sparse.h"

namespace outlierd::model {

// A cell over the threshold of M10. Its sparse part is zero where the level rule holds it to be
// the new normal.
struct Outlier {
  std::int64_t cell;  // row * Layout::stride + column
  double observed;    // the value before anything was taken out
  SparseCell sparse;
};

// D = Y - S and back, exactly. Only take_out() leaves the slice's squares true.
void take_out(const std::vector<Outlier>& outliers, WindowSlice& slice);
void put_back(const std::vector<Outlier>& outliers, WindowSlice& slice);

// Cells that have been outliers for `limit` slices in a row are a new level (padded layout).
struct LevelRule {
  const std::uint8_t* runs = nullptr;
  int limit = 0;
  bool holds(std::int64_t cell) const { return runs && runs[cell] >= limit; }
};

class WindowFit {
 public:
  WindowFit(const SliceShape& shape, const FactorizerOptions& options, MeanField& mean_field);

  // M3, M4, M5 and M8 once. `outlier_variance` is the sum of Var[S] over the newest slice.
  bool sweep(Posterior& q, const WindowView& view, double outlier_variance);
  // |L - L before| / |L| of the newest slice, over the last sweep.
  double change() const { return change_; }
  // Sweeps since the last cold start began.
  int sweeps() const { return sweeps_; }

  // M8 from the summaries of the last M4.
  void update_noise_precision(Posterior& q, const WindowView& view, double outlier_variance);

  // The outliers of M10 of a slice that holds Y, given its c. Returns what its residuals cost
  // (OutlierRule::loss); once that is over `give_up` the search ends early, without outliers.
  double find_outliers(const Posterior& q, const WindowSlice& slice, const double* c,
                       const LevelRule& levels, std::vector<Outlier>& outliers,
                       double give_up = std::numeric_limits<double>::infinity());

  // A window fitted from nothing: components are seeded one by one from what is left over, then all
  // are refined together, and those that are not needed are dropped. Outliers of every slice are
  // taken out of its values; those of the newest are told. False also when no component stands out
  // of the noise; the slices are then as they were.
  bool cold_start(Posterior& q, const WindowView& view, std::vector<Outlier>& outliers);

  ResidualSeeder& seeder() { return seeder_; }
  // Refreshes what the updates keep of the factors, after q was changed otherwise.
  void refresh(const Posterior& q, const WindowView& view);
  // Drops and merges components. True if any was, and then refresh() is due.
  bool tidy(Posterior& q, int slices) const;
  // Seeds a component from the residual if one is free and the residual stands out of the noise.
  // True if so, and then refresh() is due.
  bool seed(Posterior& q, const WindowView& view, int rounds);

 private:
  void find_block_outliers(const WindowSlice& slice, double tau, int block, const double* residuals,
                           const LevelRule& levels, double give_up);
  void remember(const Posterior& q, int newest);
  double change_since(const Posterior& q, int newest) const;
  // Parts of cold_start():
  void hold_back_spikes(const WindowView& view);
  void put_back_all(const WindowView& view);
  double take_out_outliers(const Posterior& q, const WindowView& view);
  double squared_residuals(const Posterior& q, const WindowView& view);
  double robust_noise_precision(const Posterior& q, const WindowView& view);
  bool refine(Posterior& q, const WindowView& view, int sweeps, bool sparse);
  bool grow(Posterior& q, const WindowView& view);
  bool is_needless(int r, Posterior& q, const WindowView& view);
  bool drop_needless_components(Posterior& q, const WindowView& view);

  const FactorizerOptions& options_;
  MeanField& mean_field_;
  OutlierRule rule_;
  ResidualSeeder seeder_;
  // What find_outliers() found, a block of rows each.
  struct BlockOutliers {
    std::vector<Outlier> outliers;
    double loss = 0.0;
  };
  int block_peaks_;  // peaks of a block
  AlignedDoubles peaks_;
  std::vector<BlockOutliers> blocks_;
  std::vector<AlignedDoubles> previous_;  // means of each mode, then of the newest time row
  double change_ = 0.0;
  int sweeps_ = 0;
  // Of a cold start: what was taken out of each slice, so that it can be put back.
  std::vector<std::vector<Outlier>> taken_;
};

}  // namespace outlierd::model
