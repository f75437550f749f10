// How WindowFit begins from nothing (docs/model.md, "Cold start"). Runs once; allocates freely.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/model/window_fit.h"

namespace outlierd::model {
namespace {

constexpr int kSeedRounds = 3;
constexpr int kSweepsPerSeed = 5;      // of all components, after one was seeded
constexpr int kSweepsPerOutliers = 3;  // outliers of the whole window are looked for so often
constexpr int kSweepsWithout = 10;     // for the others to take over from one left out
constexpr double kNeedless = 2.0;      // gains below so many times what noise would give
constexpr int kSweepsToHope = 4;       // before a component left out is given up as needed
constexpr double kHopeless = 300.0;    // times the loss that is allowed
constexpr int kFewestForMedian = 5;    // observations of a cell
constexpr double kSpikeSigmas = 8.0;   // from a cell's own median, to be kept out of the seeds
constexpr std::ptrdiff_t kMedianSample = 20000;  // cells of a slice that are enough
constexpr double kNormalSigma = 1.4826;          // sigma of a normal, in median absolute deviations

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

// A spike is itself of rank one and would be seeded as a component: what is far from its own cell's
// median over the window is held back until there is a model to judge it.
void WindowFit::hold_back_spikes(const WindowView& view) {
  const Layout& layout = mean_field_.layout();
  std::vector<double> values, sorted;
  std::vector<int> where;
  for (std::ptrdiff_t cell = 0; cell < std::ptrdiff_t(layout.padded_cells()); ++cell) {
    if (cell % layout.stride >= layout.columns) continue;
    values.clear();
    where.clear();
    for (int t = 0; t < view.size(); ++t)
      if (layout.is_observed(*view.slices[t], cell)) {
        values.push_back(view.slices[t]->values[cell]);
        where.push_back(t);
      }
    if (values.size() < kFewestForMedian) continue;
    sorted = values;
    const double middle = median(sorted);
    for (std::size_t k = 0; k < values.size(); ++k) sorted[k] = std::abs(values[k] - middle);
    const double sigma = kNormalSigma * median(sorted);
    if (!(sigma > 0.0)) continue;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (std::abs(values[k] - middle) > kSpikeSigmas * sigma)
        taken_[where[k]].push_back({cell, values[k], {values[k] - middle, 0.0}});
  }
  for (int t = 0; t < view.size(); ++t) take_out(taken_[t], *view.slices[t]);
}

void WindowFit::put_back_all(const WindowView& view) {
  for (int t = 0; t < view.size(); ++t) {
    put_back(taken_[t], *view.slices[t]);
    taken_[t].clear();
    take_out(taken_[t], *view.slices[t]);
  }
}

// M10 on every slice of the window. Returns what the residuals cost, weighted.
double WindowFit::take_out_outliers(const Posterior& q, const WindowView& view) {
  double loss = 0.0;
  for (int t = 0; t < view.size(); ++t) {
    WindowSlice& slice = *view.slices[t];
    if (options_.sparse) {
      put_back(taken_[t], slice);
      loss += view.weights[t] * find_outliers(q, slice, q.time.mean_of(t), {}, taken_[t]);
      take_out(taken_[t], slice);
    }
  }
  if (!options_.sparse) return 0.5 * q.tau * squared_residuals(q, view);
  mean_field_.project(q, view);
  return loss;
}

double WindowFit::squared_residuals(const Posterior& q, const WindowView& view) {
  AlignedDoubles residuals(mean_field_.layout().padded_cells());
  double squares = 0.0;
  for (int t = 0; t < view.size(); ++t) {
    mean_field_.residual(q, *view.slices[t], q.time.mean_of(t), residuals.data());
    squares += view.weights[t] * sum_of_squares(residuals);
  }
  return squares;
}

// 1 / (1.4826 median |residual|)^2 over observed cells of the window, a sample where there are
// many.
double WindowFit::robust_noise_precision(const Posterior& q, const WindowView& view) {
  const Layout& layout = mean_field_.layout();
  const auto cells = std::ptrdiff_t(layout.padded_cells());
  const std::ptrdiff_t step = 1 + cells / kMedianSample;
  AlignedDoubles residuals(layout.padded_cells());
  std::vector<double> sizes;
  for (int t = 0; t < view.size(); ++t) {
    const WindowSlice& slice = *view.slices[t];
    mean_field_.residual(q, slice, q.time.mean_of(t), residuals.data());
    for (std::ptrdiff_t cell = t % step; cell < cells; cell += step)
      if (cell % layout.stride < layout.columns && layout.is_observed(slice, cell))
        sizes.push_back(std::abs(residuals[cell]));
  }
  if (sizes.empty()) return q.tau;
  const double sigma = kNormalSigma * median(sizes);
  return sigma > 0.0 ? 1.0 / (sigma * sigma) : q.tau;
}

bool WindowFit::refine(Posterior& q, const WindowView& view, int sweeps, bool sparse) {
  for (int k = 0; k < sweeps; ++k) {
    double variance = 0.0;
    for (int t = 0; t < view.size(); ++t)
      for (const Outlier& outlier : taken_[t])
        variance += view.weights[t] * outlier.sparse.variance;
    if (!sweep(q, view, variance)) return false;
    const bool settled = change_ < options_.tolerance;
    if (sparse && (settled || k % kSweepsPerOutliers == 0)) take_out_outliers(q, view);
    if (settled) break;
  }
  return true;
}

// Components are added while what is left over stands out of the noise; each time all are refitted.
bool WindowFit::grow(Posterior& q, const WindowView& view) {
  // A seed may be merged or dropped again at once, so their number is bounded.
  for (int seeds = 0; seeds < 2 * options_.max_rank && seed(q, view, kSeedRounds); ++seeds) {
    refresh(q, view);
    mean_field_.update_component_precision(q, view.size(),
                                           mean_field_.component_count(view.size()));
    if (!refine(q, view, kSweepsPerSeed, false)) return false;
    if (tidy(q, view.size())) refresh(q, view);
  }
  return true;
}

// Whether the window is explained as well without component r once the others have taken over: what
// the fit loses must be less than twice what a component gains that is fitted to noise. If so, q is
// without it; if not, as it was. Outliers are looked for anew: what one model holds to be an
// outlier, another may explain. Where the loss is out of all proportion that is not even tried.
bool WindowFit::is_needless(int r, Posterior& q, const WindowView& view) {
  const Posterior with = q;
  const double loss = take_out_outliers(q, view);
  const double noise = seeder_.noise_strength(view, 1.0);
  const double allowed = kNeedless * 0.5 * noise * noise;
  if (!mean_field_.update_time(q, view)) return false;
  const double error = mean_field_.summarized_error(q, view);
  q.drop_component(r);
  refresh(q, view);
  const bool hopeful =
      refine(q, view, kSweepsToHope, false) &&
      0.5 * with.tau * (mean_field_.summarized_error(q, view) - error) < kHopeless * allowed;
  if (hopeful && refine(q, view, kSweepsWithout, options_.sparse)) {
    const double tau = std::exchange(q.tau, with.tau);  // one yardstick for both
    const double lost = take_out_outliers(q, view) - loss;
    q.tau = tau;
    if (lost < allowed) return true;
  }
  q = with;
  return false;
}

// The weakest first; after each that goes, all are tried again.
bool WindowFit::drop_needless_components(Posterior& q, const WindowView& view) {
  for (int tried = 0; tried < q.rank && q.rank > 1;) {
    std::vector<int> order(std::size_t(q.rank));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int r, int s) {
      return q.strength(r, view.size()) < q.strength(s, view.size());
    });
    tried = is_needless(order[std::size_t(tried)], q, view) ? 0 : tried + 1;
    refresh(q, view);
    take_out_outliers(q, view);
  }
  return true;
}

bool WindowFit::cold_start(Posterior& q, const WindowView& view, std::vector<Outlier>& outliers) {
  sweeps_ = 0;
  taken_.assign(view.slices.size(), {});
  if (options_.sparse) hold_back_spikes(view);
  double squares = 0.0, cells = 0.0;
  for (const WindowSlice* slice : view.slices) {
    squares += slice->squares;
    cells += double(slice->observed);
  }
  while (q.rank > 0) q.drop_component(q.rank - 1);
  q.tau = cells / squares;
  refresh(q, view);
  bool ok = squares > 0.0 && grow(q, view) && q.rank > 0;
  if (ok && options_.sparse) {
    put_back_all(view);
    q.tau = robust_noise_precision(q, view);
    take_out_outliers(q, view);
  }
  ok = ok && refine(q, view, options_.cold_sweeps, options_.sparse);
  if (ok && tidy(q, view.size())) {
    refresh(q, view);
    ok = refine(q, view, options_.cold_sweeps, options_.sparse);
  }
  ok = ok && drop_needless_components(q, view) &&
       refine(q, view, options_.cold_sweeps, options_.sparse);
  if (ok) {
    refresh(q, view);
    outliers = taken_.back();
  } else {
    put_back_all(view);
  }
  taken_.clear();
  return ok;
}

}  // namespace outlierd::model
