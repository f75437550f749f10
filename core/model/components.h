#pragma once
// Which components are in use. The updates alone shrink a component but never remove one, leave two
// copies of one side by side, and cannot bring a dead one back (docs/model.md, "Streaming"). Here
// components are dropped, merged and seeded.

#include <cstdint>
#include <vector>

#include "core/model/mean_field.h"
#include "core/model/posterior.h"
#include "core/model/window.h"

namespace outlierd::model {

// Drops components that carry less than `share` of the strongest. Returns how many.
int drop_weak_components(Posterior& q, int slices, double share);

// Two components whose factors are parallel in every mode but one are one component: it gets the
// sum in that mode. Parallel means a cosine of at least `cosine`. Returns how many were merged.
int merge_parallel_components(Posterior& q, int slices, double cosine);

// The leading rank-1 part of what the model leaves over in a window. Scratch is taken in the
// constructor; find() allocates nothing.
class ResidualSeeder {
 public:
  ResidualSeeder(const SliceShape& shape, int window);

  // Finds the direction; `rounds` alternations between time and the other modes. Its strength is
  // <residual, direction> of unit vectors.
  void find(const Posterior& q, const WindowView& view, MeanField& mean_field, int rounds);
  double strength() const { return strength_; }
  // About the strength that pure noise of this precision would give.
  double noise_strength(const WindowView& view, double tau) const;
  // Adds the direction found as a component of q. False if all are in use.
  bool add_to(Posterior& q, int slices) const;

 private:
  void sum_gram(const Posterior& q, const WindowView& view, MeanField& mean_field);
  void start_time(const Posterior& q, const WindowView& view, MeanField& mean_field);
  void sum_residuals(const Posterior& q, const WindowView& view, MeanField& mean_field);
  void factor_sum(int iterations);
  void project_time(const Posterior& q, const WindowView& view, MeanField& mean_field);
  double split_columns(int iterations);
  int block_rows(int block) const { return std::min(kRowBlock, layout_.rows - block * kRowBlock); }
  int coordinate(int column, int mode) const { return column / mode_steps_[mode] % shape_[mode]; }

  SliceShape shape_;
  Layout layout_;
  std::vector<int> mode_steps_;
  int window_;
  const Kernels& kernels_;
  AlignedDoubles row_residuals_;           // per group: window x layout.stride
  AlignedDoubles row_gram_, group_grams_;  // per group: window x window
  AlignedDoubles sum_;                     // rows x layout.stride
  AlignedDoubles right_;  // layout.stride: the column modes' direction, multiplied out
  AlignedDoubles left_, folded_;
  std::vector<double> gram_, eigen_;            // window x window, window
  std::vector<std::vector<double>> direction_;  // unit vectors, a mode each
  std::vector<double> time_;                    // unit vector
  double strength_ = 0.0;
  double observed_share_ = 1.0;
};

}  // namespace outlierd::model
