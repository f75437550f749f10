#include "core/model/window_fit.h"

#include <algorithm>
#include <cmath>

namespace outlierd::model {
namespace {

constexpr double kWeakestShare = 0.01;    // of the strongest component
constexpr double kParallel = 0.95;        // cosine from which two factors point the same way
constexpr double kOutOfTheNoise = 1.1;    // times the strength of noise

}  // namespace

void take_out(const std::vector<Outlier>& outliers, WindowSlice& slice) {
  for (const Outlier& outlier : outliers)
    slice.values[outlier.cell] = outlier.observed - outlier.sparse.value;
  if (!outliers.empty()) slice.squares = sum_of_squares(slice.values);
}

void put_back(const std::vector<Outlier>& outliers, WindowSlice& slice) {
  for (const Outlier& outlier : outliers) slice.values[outlier.cell] = outlier.observed;
  if (!outliers.empty()) slice.squares = sum_of_squares(slice.values);
}

WindowFit::WindowFit(const SliceShape& shape, const FactorizerOptions& options,
                     MeanField& mean_field)
    : shape_(shape),
      options_(options),
      mean_field_(mean_field),
      rule_(options.outlier_sigmas),
      seeder_(shape, options.window),
      residual_(mean_field.layout().padded_cells()) {
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
  double inner[3] = {};  // <L, L>, <L, L'>, <L', L'>
  for (int kind = 0; kind < 3; ++kind)
    for (int r = 0; r < rank; ++r)
      for (int s = 0; s < rank; ++s) {
        const double* now = q.time.mean_of(newest);
        const double* before = previous_.back().data();
        double product = (kind < 2 ? now : before)[r] * (kind < 1 ? now : before)[s];
        for (std::size_t mode = 0; mode < q.modes.size(); ++mode) {
          const FactorRows& factor = q.modes[mode];
          const double* left = kind < 2 ? factor.mean.data() : previous_[mode].data();
          const double* right = kind < 1 ? factor.mean.data() : previous_[mode].data();
          double dot = 0.0;
          for (std::ptrdiff_t i = 0; i < factor.rows; ++i)
            dot += left[i * factor.stride + r] * right[i * factor.stride + s];
          product *= dot;
        }
        inner[kind] += product;
      }
  if (!(inner[0] > 0.0)) return 0.0;
  return std::sqrt(std::max(0.0, inner[0] - 2.0 * inner[1] + inner[2]) / inner[0]);
}

bool WindowFit::sweep(Posterior& q, const WindowView& view, double outlier_variance) {
  const int newest = view.size() - 1;
  remember(q, newest);
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
  for (int t = 0; t < view.size(); ++t)
    cells += view.weights[t] * double(view.slices[t]->observed);
  const double error = mean_field_.summarized_error(q, view) + outlier_variance;
  q.tau = (kGammaPrior + 0.5 * cells) / (kGammaPrior + 0.5 * error);
}

double WindowFit::find_outliers(const Posterior& q, const WindowSlice& slice, const double* c,
                                const LevelRule& levels, std::vector<Outlier>& outliers) {
  const Layout& layout = mean_field_.layout();
  mean_field_.residual(q, slice, c, slice.values.data(), residual_.data());
  outliers.clear();
  const double threshold = rule_.threshold_squares() / q.tau;
  double small = 0.0, large = 0.0;
  constexpr std::ptrdiff_t kBlock = 64;
  const auto cells = std::ptrdiff_t(layout.padded_cells());
  for (std::ptrdiff_t first = 0; first < cells; first += kBlock) {
    const std::ptrdiff_t last = std::min(first + kBlock, cells);
    double sums[4] = {}, most[4] = {};
    for (std::ptrdiff_t cell = first; cell < last; cell += 4)
      for (int lane = 0; lane < 4; ++lane) {
        const double square = residual_[cell + lane] * residual_[cell + lane];
        sums[lane] += square;
        most[lane] = square > most[lane] ? square : most[lane];
      }
    small += (sums[0] + sums[2]) + (sums[1] + sums[3]);
    if (std::max(std::max(most[0], most[1]), std::max(most[2], most[3])) < threshold) continue;
    for (std::ptrdiff_t cell = first; cell < last; ++cell) {
      const double square = residual_[cell] * residual_[cell];
      if (square < threshold) continue;
      Outlier outlier{cell, slice.values[cell], {}};
      if (!levels.holds(cell)) {
        small -= square;
        large += rule_.loss(q.tau * square);
        outlier.sparse = rule_.sparse_part(residual_[cell], q.tau);
      }
      outliers.push_back(outlier);
    }
  }
  return 0.5 * q.tau * small + large;
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
