#pragma once
// What a StreamingFactorizer holds. Internal to core/model: factorizer_state.cpp sets a slice
// against the model, factorizer_learning.cpp puts it in, snapshot.cpp turns the whole into bytes.

#include "core/model/mean_field.h"
#include "core/model/paper_fit.h"
#include "core/model/streaming_factorizer.h"
#include "core/model/window_fit.h"

namespace outlierd::model {

// In model units, where data are of the size of 1. A larger value is cut to this on its way in, and
// what was cut off is put back into its sparse part on the way out: next to it nothing else would
// survive a subtraction.
inline constexpr double kLargestValue = 0x1p24;

class StreamingFactorizer::State {
 public:
  State(SliceShape slice_shape, FactorizerOptions chosen);

  const SliceResult& project(const Slice& slice);
  // With another noise precision than the learned one, in the unit of the data.
  const SliceResult& project_with(const Slice& slice, double noise_precision);
  Learned update(const Slice& slice);
  const SliceResult& fitted();
  double evidence_bound();

  std::vector<std::byte> save() const;
  // The reason if the bytes, already checked, do not describe such a state.
  std::string load(std::span<const std::byte> body);
  // Takes over the rows of a state of another shape; resume() must follow.
  void rearrange(const State& saved, const std::vector<std::vector<int>>& from);
  // Rebuilds what is derived from the saved state.
  void resume();

  const SliceShape shape;
  const FactorizerOptions options;

  // The state proper; save() writes exactly these.
  bool warm = false;
  int exponent = 0;                        // data are multiplied by 2^-exponent
  std::int64_t learned = 0;                // slices
  Window window;                           // D_t; in paper rules and before warm, Y_t
  Posterior q;                             // time row k belongs to window[k]
  std::vector<std::uint8_t> flagged_runs;  // slices in a row a cell was an outlier, padded layout
  std::vector<Outlier> newest_outliers;    // what was taken out of the newest slice

  SliceResult projection;

 private:
  SliceStatus stage(const Slice& slice);
  void view_window();
  void view_with_staged();
  SliceStatus fit_projection();
  bool solve_time(const std::vector<Outlier>& outliers);
  Learned learn();
  bool learn_staged(int& sweeps);
  Learned learn_cold();
  bool fit_paper();
  Learned learn_paper(const Slice& slice);
  bool normalize_window();
  void count_runs();
  void maintain();
  Learned report(SliceStatus status, int iterations) const;
  void fill_result(SliceResult& result, const double* c, const double* moment,
                   std::span<const Outlier> outliers);
  void cut_to_size(WindowSlice& slice);
  void fill_unknown(SliceResult& result, SliceStatus status) const;
  double unit() const;  // of the data, in model units: 2^exponent

  ThreadTeam team_;
  MeanField mean_field_;
  WindowFit fit_;
  std::unique_ptr<PaperFit> paper_;  // rules: paper
  Posterior before_;                 // to go back to when a slice fails
  WindowView view_;
  AlignedDoubles low_rank_, squares_;                            // of a result, padded layout
  std::vector<Outlier> outliers_, other_outliers_;               // of the staged slice
  AlignedDoubles gram_, load_, precision_, rhs_, c_, c_moment_;  // of the staged slice
  std::vector<std::pair<std::int64_t, double>> cut_;  // cells of the staged slice, what was cut off
  std::vector<std::int64_t> running_;                 // cells with a run
  SliceResult fitted_;
};

}  // namespace outlierd::model
