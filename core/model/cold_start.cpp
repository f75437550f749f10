// How WindowFit begins from nothing (docs/model.md, "Cold start").

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/model/window_fit.h"

namespace outlierd::model {
int debug=0;
double kNeedless=2; int kDropSweeps=10;
namespace {

constexpr int kSeedRounds = 3;
constexpr int kSweepsPerSeed = 5;
constexpr double kSpikeSigmas = 8.0;     // from a cell's own median, to be kept out of the seeds
constexpr double kNormalSigma = 1.4826;  // sigma of a normal, in median absolute deviations

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_observed(const Layout& layout, const WindowSlice& slice, std::ptrdiff_t cell) {
  const std::ptrdiff_t row = cell / layout.stride, column = cell % layout.stride;
  return slice.row_bits[row * layout.row_words + column / kBitsInWord] >> (column % kBitsInWord) & 1;
}

}  // namespace

// A spike is itself of rank one and would be seeded as a component: what is far from its own cell's
// median over the window is held back until there is a model to judge it.
void WindowFit::clip_spikes(const WindowView& view) {
  const Layout& layout = mean_field_.layout();
  std::vector<double> values, deviations;
  std::vector<int> where;
  std::vector<double> medians, spreads;
  for (std::ptrdiff_t cell = 0; cell < std::ptrdiff_t(layout.padded_cells()); ++cell) {
    values.clear();
    where.clear();
    for (int t = 0; t < view.size(); ++t)
      if (cell % layout.stride < layout.columns && is_observed(layout, *view.slices[t], cell)) {
        values.push_back(view.slices[t]->values[cell]);
        where.push_back(t);
      }
    if (values.size() < 5) continue;
    const std::vector<double> in_order = values;
    const double middle = median(values);
    deviations.clear();
    for (double value : in_order) deviations.push_back(std::abs(value - middle));
    const double sigma = kNormalSigma * median(deviations);
    if (!(sigma > 0.0)) continue;
    for (std::size_t k = 0; k < in_order.size(); ++k)
      if (std::abs(in_order[k] - middle) > kSpikeSigmas * sigma) {
        taken_[where[k]].push_back({cell, in_order[k], {in_order[k] - middle, 0.0}});
      }
  }
  for (int t = 0; t < view.size(); ++t) take_out(taken_[t], *view.slices[t]);
}

void WindowFit::take_out_outliers(const Posterior& q, const WindowView& view) {
  for (int t = 0; t < view.size(); ++t) {
    WindowSlice& slice = *view.slices[t];
    put_back(taken_[t], slice);
    find_outliers(q, slice, q.time.mean_of(t), {}, taken_[t]);
    take_out(taken_[t], slice);
  }
  mean_field_.project(q, view);
}

// 1 / (1.4826 median |residual|)^2 over the observed cells of the window, outliers put back.
double WindowFit::robust_noise_precision(const Posterior& q, const WindowView& view) {
  const Layout& layout = mean_field_.layout();
  std::vector<double> residuals;
  for (int t = 0; t < view.size(); ++t) {
    WindowSlice& slice = *view.slices[t];
    put_back(taken_[t], slice);
    taken_[t].clear();
    mean_field_.residual(q, slice, q.time.mean_of(t), slice.values.data(), residual_.data());
    for (std::ptrdiff_t row = 0; row < layout.rows; ++row)
      for (std::ptrdiff_t column = 0; column < layout.columns; ++column)
        if (slice.full || is_observed(layout, slice, row * layout.stride + column))
          residuals.push_back(std::abs(residual_[row * layout.stride + column]));
  }
  const double sigma = kNormalSigma * median(residuals);
  return 1.0 / (sigma * sigma);
}

bool WindowFit::refine(Posterior& q, const WindowView& view, int sweeps, bool sparse) {
  for (int k = 0; k < sweeps; ++k) {
    double variance = 0.0;
    for (int t = 0; t < view.size(); ++t)
      for (const Outlier& outlier : taken_[t]) variance += view.weights[t] * outlier.sparse.variance;
    if (!sweep(q, view, variance)) return false;
    if (sparse) take_out_outliers(q, view);
    if (change_ < options_.tolerance) break;
  }
  return true;
}

double WindowFit::total_loss(const Posterior& q, const WindowView& view) {
  double loss = 0.0;
  for (int t = 0; t < view.size(); ++t) {
    WindowSlice& slice = *view.slices[t];
    put_back(taken_[t], slice);
    loss += view.weights[t] * find_outliers(q, slice, q.time.mean_of(t), {}, taken_[t]);
    take_out(taken_[t], slice);
  }
  return loss;
}

bool WindowFit::drop_needless(Posterior& q, const WindowView& view) {
  const double noise = seeder_.noise_strength(view, 1.0);
  for (int tried = 0; tried < q.rank && q.rank > 1;) {
    std::vector<int> order(q.rank);
    for (int r = 0; r < q.rank; ++r) order[r] = r;
    std::sort(order.begin(), order.end(), [&](int r, int s) {
      return q.strength(r, view.size()) < q.strength(s, view.size());
    });
    const Posterior with = q;
    const double tau = q.tau;
    const double loss = total_loss(q, view);
    q.drop_component(order[tried]);
    refresh(q, view);
    if (!refine(q, view, kDropSweeps, options_.sparse)) return false;
    if (tidy(q, view.size())) refresh(q, view);
    q.tau = tau;
    const double more = total_loss(q, view) - loss;
    if (debug) printf("  drop try %d rank %d -> more %.1f vs %.1f\n", tried, with.rank, more, 0.5*noise*noise);
    if (more < kNeedless * 0.5 * noise * noise) {
      tried = 0;
      refresh(q, view);
      refine(q, view, 5, options_.sparse);
    } else {
      q = with;
      refresh(q, view);
      take_out_outliers(q, view);
      ++tried;
    }
  }
  return true;
}

bool WindowFit::cold_start(Posterior& q, const WindowView& view) {
  taken_.assign(view.slices.size(), {});
  double squares = 0.0, cells = 0.0;
  if (options_.sparse) clip_spikes(view);
  for (const WindowSlice* slice : view.slices) {
    squares += slice->squares;
    cells += double(slice->observed);
  }
  if (!(squares > 0.0)) return false;
  while (q.rank > 0) q.drop_component(q.rank - 1);
  q.tau = cells / squares;
  refresh(q, view);

  // Grow: the residual's leading direction, then all components together.
  while (seed(q, view, kSeedRounds)) {
    if (q.rank == 1) q.tau = 1e3 * cells / squares;
    refresh(q, view);
    mean_field_.update_component_precision(q, view.size(), mean_field_.component_count(view.size()));
    if (!refine(q, view, kSweepsPerSeed, false)) return false;
    if (tidy(q, view.size())) refresh(q, view);
  }
  if (q.rank == 0) return false;
  if (options_.sparse) {
    q.tau = robust_noise_precision(q, view);
    take_out_outliers(q, view);
  }
  if (!refine(q, view, options_.cold_sweeps, options_.sparse)) return false;
  if (tidy(q, view.size())) {
    refresh(q, view);
    if (!refine(q, view, options_.cold_sweeps, options_.sparse)) return false;
  }
  if(!drop_needless(q, view)) return false;
  return true;
}

}  // namespace outlierd::model
