#include "core/model/window_fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

namespace outlierd::model {
namespace {

constexpr double kWeakestShare = 0.01;  // of the strongest component
constexpr double kParallel = 0.95;      // cosine from which two factors point the same way
constexpr double kOutOfTheNoise = 1.1;  // times the strength of noise

}  // namespace

void take_out(const std::vector<Outlier>& outliers, WindowSlice& slice) {
  for (const Outlier& outlier : outliers)
    slice.values[outlier.cell] = outlier.observed - outlier.sparse.value;
  slice.squares = sum_of_squares(slice.values);
}

void put_back(const std::vector<Outlier>& outliers, WindowSlice& slice) {
  for (const Outlier& outlier : outliers) slice.values[outlier.cell] = outlier.observed;
}

WindowFit::WindowFit(const SliceShape& shape, const FactorizerOptions& options,
                     MeanField& mean_field)
    : options_(options),
      mean_field_(mean_field),
      rule_(options.outlier_sigmas),
      seeder_(shape, options.window),
      block_peaks_(kRowBlock * mean_field.layout().stride / kPeakBlock + 1),
      peaks_(std::size_t(mean_field.row_blocks()) * block_peaks_),
      blocks_(std::size_t(mean_field.row_blocks())) {
  for (BlockOutliers& block : blocks_)
    block.outliers.reserve(std::size_t(kRowBlock) * mean_field.layout().stride);
  const std::size_t stride = padded(options.max_rank);
  for (int size : shape) previous_.emplace_back(std::size_t(size) * stride);
  previous_.emplace_back(stride);
}

void WindowFit::remember(const Posterior& q, int newest) {
  for (std::size_t mode = 0; mode < q.modes.size(); ++mode) previous_[mode] = q.modes[mode].mean;
  std::copy_n(q.time.mean_of(newest), q.rank, previous_.back().begin());
}

// By the Gram matrices between old and new factors: |L - L'|^2 = <L, L> - 2 <L, L'> + <L', L'>.
double WindowFit::change_since(const Posterior& q, int newest) const {
  const int rank = q.rank;
  const auto inner = [&](bool left_is_old, bool right_is_old) {
    const double* now = q.time.mean_of(newest);
    const double* before = previous_.back().data();
    double product[kMaxRank * kMaxRank];
    for (int r = 0; r < rank; ++r)
      for (int s = 0; s < rank; ++s)
        product[r * rank + s] = (left_is_old ? before : now)[r] * (right_is_old ? before : now)[s];
    for (std::size_t mode = 0; mode < q.modes.size(); ++mode) {
      const FactorRows& factor = q.modes[mode];
      const double* left = left_is_old ? previous_[mode].data() : factor.mean.data();
      const double* right = right_is_old ? previous_[mode].data() : factor.mean.data();
      double gram[kMaxRank * kMaxRank] = {};
      kernels().multiply_transposed(right, factor.stride, factor.rows, padded(rank), left,
                                    factor.stride, rank, gram, kMaxRank);
      for (int r = 0; r < rank; ++r)
        for (int s = 0; s < rank; ++s) product[r * rank + s] *= gram[r * kMaxRank + s];
    }
    return std::accumulate(product, product + rank * rank, 0.0);
  };
  const double size = inner(false, false);
  if (!(size > 0.0)) return 0.0;
  return std::sqrt(std::max(0.0, size - 2.0 * inner(false, true) + inner(true, true)) / size);
}

bool WindowFit::sweep(Posterior& q, const WindowView& view, double outlier_variance) {
  const int newest = view.size() - 1;
  remember(q, newest);
  ++sweeps_;
  if (!mean_field_.update_row_mode(q, view)) return false;
  if (!mean_field_.update_column_modes(q, view)) return false;
  mean_field_.project(q, view);
  if (!mean_field_.update_time(q, view)) return false;
  mean_field_.update_component_precision(q, view.size(), mean_field_.component_count(view.size()));
  update_noise_precision(q, view, outlier_variance);
  change_ = change_since(q, newest);
  return std::isfinite(change_) && std::isfinite(q.tau);
}

// M8 over the window, as the likelihood is
void WindowFit::update_noise_precision(Posterior& q, const WindowView& view,
                                       double outlier_variance) {
  double cells = 0.0;
  for (int t = 0; t < view.size(); ++t) cells += view.weights[t] * double(view.slices[t]->observed);
  const double error = mean_field_.summarized_error(q, view) + outlier_variance;
  q.tau = (kGammaPrior + 0.5 * cells) / (kGammaPrior + 0.5 * error);
}

void WindowFit::find_block_outliers(const WindowSlice& slice, double tau, int block,
                                    const double* residuals, const LevelRule& levels,
                                    double give_up) {
  const Layout& layout = mean_field_.layout();
  const double threshold = rule_.threshold_squares() / tau;
  const int rows = std::min(kRowBlock, layout.rows - block * kRowBlock);
  const std::ptrdiff_t cells = std::ptrdiff_t(rows) * layout.stride;
  const std::ptrdiff_t first = std::ptrdiff_t(block) * kRowBlock * layout.stride;
  double* peaks = peaks_.data() + std::ptrdiff_t(block) * block_peaks_;
  BlockOutliers& found = blocks_[std::size_t(block)];
  double squares = kernels().square_peaks(residuals, cells, peaks);
  found.outliers.clear();
  found.loss = 0.0;
  for (std::ptrdiff_t from = 0; from < cells && found.loss <= give_up; from += kPeakBlock) {
    if (peaks[from / kPeakBlock] < threshold) continue;
    for (std::ptrdiff_t cell = from; cell < std::min(from + kPeakBlock, cells); ++cell) {
      const double square = residuals[cell] * residuals[cell];
      if (square < threshold) continue;
      Outlier outlier{first + cell, slice.values[first + cell], {}};
      if (!levels.holds(outlier.cell)) {
        squares -= square;
        found.loss += rule_.loss(tau * square);
        outlier.sparse = rule_.sparse_part(residuals[cell], tau);
      }
      found.outliers.push_back(outlier);
    }
  }
  found.loss += 0.5 * tau * std::max(0.0, squares);
}

double WindowFit::find_outliers(const Posterior& q, const WindowSlice& slice, const double* c,
                                const LevelRule& levels, std::vector<Outlier>& outliers,
                                double give_up) {
  // Threads add to `so_far` in any order: it only says when it is too much, whichever came first.
  std::atomic<double> so_far = 0.0;
  mean_field_.visit_residuals(q, slice, c, [&](int block, const double* residuals) {
    const double left = give_up - so_far.load(std::memory_order_relaxed);
    if (left < 0.0) return;
    find_block_outliers(slice, q.tau, block, residuals, levels, left);
    so_far.fetch_add(blocks_[std::size_t(block)].loss, std::memory_order_relaxed);
  });
  if (so_far > give_up) return so_far;
  outliers.clear();
  double loss = 0.0;
  for (const BlockOutliers& found : blocks_) {
    outliers.insert(outliers.end(), found.outliers.begin(), found.outliers.end());
    loss += found.loss;
  }
  return loss;
}

void WindowFit::refresh(const Posterior& q, const WindowView& view) {
  mean_field_.refresh_rows(q);
  mean_field_.refresh_columns(q);
  mean_field_.project(q, view);
}

bool WindowFit::tidy(Posterior& q, int slices) const {
  const int merged = merge_parallel_components(q, slices, kParallel);
  return drop_weak_components(q, slices, kWeakestShare) + merged > 0;
}

bool WindowFit::seed(Posterior& q, const WindowView& view, int rounds) {
  if (q.rank == options_.max_rank) return false;
  seeder_.find(q, view, mean_field_, rounds);
  if (!(seeder_.strength() > kOutOfTheNoise * seeder_.noise_strength(view, q.tau))) return false;
  return seeder_.add_to(q, view.size());
}

}  // namespace outlierd::model
