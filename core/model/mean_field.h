#pragma once
// The mean-field updates M3, M4, M5, M8 over a window of slices, one function for each equation.
//
// A slice is rows x columns: the first mode by all others together (window.h). With K the row-wise
// product of the column modes' factors, everything the updates need of the data is
//
//   D_t K    for the first mode and for time      (project)
//   D_t' A   for the column modes                 (fold)
//
// two passes over the ring a sweep, whatever the number of modes. What a mask changes are second
// moments, summed over the observed cells only.
//
// Holds scratch memory taken in the constructor; no update allocates. Not thread-safe. Results do
// not depend on the number of threads.

#include <algorithm>
#include <vector>

#include "core/model/kernels.h"
#include "core/model/posterior.h"
#include "core/model/thread_team.h"
#include "core/model/window.h"

namespace outlierd::model {

// Slices that are fitted together, the oldest first, and their weights w_t.
struct WindowView {
  std::vector<WindowSlice*> slices;
  std::vector<double> weights;

  int size() const { return int(slices.size()); }
  WindowSlice& newest() const { return *slices.back(); }
};

inline constexpr int kRowBlock = 8;          // rows that are worked on together
inline constexpr double kGammaPrior = 1e-6;  // c0, d0 of lambda and at, bt of tau

class MeanField {
 public:
  MeanField(const SliceShape& shape, int window, int max_rank, ThreadTeam& team);

  // Tables made of the factors. Whoever changes a factor from outside calls these two, then
  // project(), before the next update.
  void refresh_rows(const Posterior& q);
  void refresh_columns(const Posterior& q);

  // D_t K and the masked sums of E[k k'], for every slice or for one.
  void project(const Posterior& q, const WindowView& view);
  void project(const Posterior& q, WindowSlice& slice);
  // The same for D_t K alone, where values changed and the mask did not.
  void project_values(const Posterior& q, WindowSlice& slice);

  // M3. Each expects project() to hold for the column factors; false, with q unspecified, if a
  // precision matrix is not numerically positive definite.
  bool update_row_mode(Posterior& q, const WindowView& view);
  bool update_column_modes(Posterior& q, const WindowView& view);
  // M4, after project() of all slices.
  bool update_time(Posterior& q, const WindowView& view);
  // M5. component_count is half the number of rows summed, 1/2 (sum_n I_n + W), unless the printed
  // rule's own count is wanted.
  void update_component_precision(Posterior& q, int slices, double count) const;
  double component_count(int slices) const;

  // What M4 and M8 see of one slice, from its project():
  //   gram = Q_t = sum over O_t of prod* E[a a'], packed;   load = sum over O_t of d prod a
  // Both hold whole vectors of the kernels.
  void summarize(const Posterior& q, const WindowSlice& slice, double* gram, double* load) const;
  // E||D_t - L_t||^2 on O_t, from the summary and c_t. Never below rounding error.
  double expected_error(const Posterior& q, const WindowSlice& slice, int time_row,
                        const double* gram, const double* load) const;
  // sum_t w_t E||D_t - L_t||^2, from the summaries of the last update_time().
  double summarized_error(const Posterior& q, const WindowView& view) const;
  double summarized_error(const Posterior& q, const WindowView& view, int t) const;  // one slice

  // The slice's values - E[L_t], zero where it was not observed.
  void residual(const Posterior& q, const WindowSlice& slice, const double* c, double* out);
  // The same for at most kRowBlock rows, from any thread.
  void residual_rows(const Posterior& q, const WindowSlice& slice, const double* c, int begin,
                     int end, double* out) const;
  // The same a block of rows at a time, for those who need it only once: visit(block, residuals)
  // for each block of kRowBlock rows (fewer at the end), layout().stride apart, from several
  // threads.
  template <class Visit>
  void visit_residuals(const Posterior& q, const WindowSlice& slice, const double* c,
                       const Visit& visit) {
    const int row_parts = parts(layout_.rows, kRowBlock, double(layout_.stride) * (q.rank + 4));
    team_.run(row_parts, [&](int part) {
      const Range rows = range_of(part, row_parts, layout_.rows, kRowBlock);
      double* scratch = row_scratch_.data() + std::ptrdiff_t(part) * kRowBlock * layout_.stride;
      for (int first = rows.begin; first < rows.end; first += kRowBlock) {
        residual_rows(q, slice, c, first, std::min(first + kRowBlock, rows.end), scratch);
        visit(first / kRowBlock, scratch);
      }
    });
  }
  // visit(begin, end) for ranges that together are all rows, from several threads where that pays.
  template <class Visit>
  void for_rows(const Visit& visit) {
    const int row_parts = parts(layout_.rows, kRowBlock, 4.0 * layout_.stride);
    team_.run(row_parts, [&](int part) {
      const Range rows = range_of(part, row_parts, layout_.rows, kRowBlock);
      visit(rows.begin, rows.end);
    });
  }
  int row_blocks() const { return (layout_.rows + kRowBlock - 1) / kRowBlock; }
  // E[L_t] of every cell.
  void low_rank(const Posterior& q, const double* c, double* out);
  // E[L_t^2] of every cell, for the second moment of c_t.
  void low_rank_squares(const Posterior& q, const double* c_moment, double* out);

  ThreadTeam& team() { return team_; }
  const Layout& layout() const { return layout_; }
  // K, component by component: k(r)[j] = prod over the column modes.
  const double* column_factor(int r) const {
    return k_.data() + std::ptrdiff_t(r) * layout_.stride;
  }

 private:
  bool all_full(const WindowView& view) const;
  // sum over full (or all) slices of w_t E[c_t c_t'], packed, into weighted_time_.
  void sum_time_moments(const Posterior& q, const WindowView& view, bool only_full);
  // V and means of a mode whose rows all share one precision.
  bool solve_shared(const Posterior& q, const double* gram, FactorRows& factor);
  bool solve_each(const Posterior& q, FactorRows& factor);
  void fold(const Posterior& q, const WindowView& view);
  int fold_groups(int rank, int slices) const;
  void fold_moments(const Posterior& q, const WindowView& view);
  void gather_column_mode(const Posterior& q, int mode, bool full);
  int coordinate(int column, int mode) const { return column / mode_steps_[mode] % shape_[mode]; }

  static constexpr int kMostGroups = 10;  // of slices, that are folded apart

  struct Range {
    int begin, end;
  };
  void project_value_rows(const Posterior& q, WindowSlice& slice, Range rows) const;
  // Contiguous parts of [0, n), in steps of `step`, that are worth a thread.
  int parts(int n, int step, double work_per_item) const;
  // Part `part` of `parts` of [0, n), bounds on multiples of step.
  static Range range_of(int part, int parts, int n, int step);

  SliceShape shape_;
  Layout layout_;
  std::vector<int> mode_steps_;  // of column modes: distance between neighbours, in columns
  int stride_, moment_stride_;   // of FactorRows
  ThreadTeam& team_;
  int most_parts_;  // that a loop is split into
  const Kernels& kernels_;

  AlignedDoubles k_;                         // max_rank x layout.stride
  AlignedDoubles k_by_column_;               // columns x stride: its transpose
  AlignedDoubles k_moments_;                 // columns x moment_stride: E[k_j k_j']
  AlignedDoubles k_word_sums_;               // sums of k_moments_ over 64 columns
  AlignedDoubles a_word_sums_;               // sums of A's moments over 64 rows
  std::vector<AlignedDoubles> gram_;         // per mode: sum over rows of E[a a']
  AlignedDoubles k_gram_;                    // sum of k_moments_
  AlignedDoubles z_;                         // max_rank x layout.stride: sum_t D_t' (A w_t c_t)
  std::vector<AlignedDoubles> z_of_groups_;  // the same of each group of slices but the first
  AlignedDoubles h_;                // columns x moment_stride: sum_t w_t E[cc'] * masked sums of A
  AlignedDoubles h_scratch_;        // per part: window x kRowBlock x moment_stride
  AlignedDoubles x_;                // rows x stride: -A diag(c)
  AlignedDoubles weighted_rows_;    // per group of slices: A scaled by w_t c_t
  AlignedDoubles weighted_means_;   // per slice: tau w_t c_t
  AlignedDoubles row_scratch_;      // per part: kRowBlock x layout.stride
  AlignedDoubles precision_, rhs_;  // rows of the mode at work
  AlignedDoubles grams_, loads_;    // per slice: Q_t, load_t
  AlignedDoubles time_precision_, time_load_;  // the same, weighted, as M4 solves them
  AlignedDoubles weighted_time_;               // packed
  std::vector<const std::uint64_t*> bits_;
  std::vector<const double*> projected_;
  std::vector<double*> sums_;
  std::vector<double*> part_sums_;  // per part, per slice
};

}  // namespace outlierd::model
