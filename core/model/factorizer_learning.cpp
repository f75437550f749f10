// A slice into the model: the cold start, warm slices, the printed rules.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/factorizer_state.h"

namespace outlierd::model {
namespace {

constexpr double kSpikeOfMedian = 1e6;
constexpr int kLargestScale = 1000;
constexpr std::size_t kWindowSample = 1000000;  // values of a window that are enough

bool all_finite(const AlignedDoubles& values) {
  // A sum is finite only if every term is; NaN and infinity both survive the multiplication.
  double sum = 0.0;
  for (double value : values) sum += value * 0.0;
  return sum == 0.0;
}

bool is_sound(const Posterior& q) {
  if (!(q.tau > 0.0 && std::isfinite(q.tau))) return false;
  for (int r = 0; r < q.rank; ++r)
    if (!(q.lambda[r] > 0.0 && std::isfinite(q.lambda[r]))) return false;
  for (const FactorRows& mode : q.modes)
    if (!all_finite(mode.mean) || !all_finite(mode.moment)) return false;
  return all_finite(q.time.mean) && all_finite(q.time.moment);
}

// Rows 1.. become rows 0..; the last is free.
void shift_rows(FactorRows& rows) {
  std::copy(rows.mean.begin() + rows.stride, rows.mean.end(), rows.mean.begin());
  std::copy(rows.moment.begin() + rows.moment_stride, rows.moment.end(), rows.moment.begin());
}

}  // namespace

Learned StreamingFactorizer::State::report(SliceStatus status, int iterations) const {
  return {status, iterations, warm ? q.rank : 0, warm ? q.tau / (unit() * unit()) : 0.0};
}

Learned StreamingFactorizer::State::update(const Slice& slice) {
  if (options.rules == Rules::kPaper) return learn_paper(slice);
  const SliceStatus status = project(slice).status;
  switch (status) {
    case SliceStatus::kWarmingUp:
      return learn_cold();
    case SliceStatus::kConverged:
    case SliceStatus::kIterationLimit:
      return learn();
    default:
      return report(status, 0);
  }
}

Learned StreamingFactorizer::State::learn() {
  before_ = q;
  int sweeps = 0;
  if (!learn_staged(sweeps) || !is_sound(q)) {
    q = before_;
    view_window();
    fit_.refresh(q, view_);
    return report(SliceStatus::kNumericalFailure, sweeps);
  }
  count_runs();
  newest_outliers.swap(outliers_);
  window.commit();
  ++learned;
  maintain();
  const bool settled = fit_.change() < options.tolerance;
  return report(settled ? SliceStatus::kConverged : SliceStatus::kIterationLimit, sweeps);
}

bool StreamingFactorizer::State::learn_staged(int& sweeps) {
  WindowSlice& staged = window.staged();
  const LevelRule levels{flagged_runs.data(), options.level_slices};
  if (window.size() == window.capacity()) shift_rows(q.time);
  view_with_staged();
  const int newest = view_.size() - 1;
  std::copy(c_.begin(), c_.end(), q.time.mean_of(newest));
  std::copy(c_moment_.begin(), c_moment_.end(), q.time.moment_of(newest));
  take_out(outliers_, staged);
  mean_field_.project_values(q, staged);

  for (sweeps = 1;; ++sweeps) {
    double variance = 0.0;
    for (const Outlier& outlier : outliers_) variance += outlier.sparse.variance;
    if (!fit_.sweep(q, view_, variance)) return false;
    if (options.sparse) {
      put_back(outliers_, staged);
      fit_.find_outliers(q, staged, q.time.mean_of(newest), levels, outliers_);
      take_out(outliers_, staged);
      mean_field_.project_values(q, staged);
    }
    if (sweeps == options.warm_sweeps || fit_.change() < options.tolerance) return true;
  }
}

// A cell that is over the threshold again is one slice further; one that was seen to be back is
// none. What was not observed waits.
void StreamingFactorizer::State::count_runs() {
  const Layout& layout = window.layout();
  const WindowSlice& staged = window.staged();
  for (const Outlier& outlier : outliers_) {
    std::uint8_t& run = flagged_runs[outlier.cell];
    if (run == 0) running_.push_back(outlier.cell);
    if (run < std::numeric_limits<std::uint8_t>::max()) ++run;
  }
  const auto is_over = [&](std::int64_t cell) {
    return std::binary_search(outliers_.begin(), outliers_.end(), Outlier{cell, 0.0, {}},
                              [](const Outlier& a, const Outlier& b) { return a.cell < b.cell; });
  };
  std::erase_if(running_, [&](std::int64_t cell) {
    if (!layout.is_observed(staged, cell) || is_over(cell)) return false;
    flagged_runs[cell] = 0;
    return true;
  });
}

void StreamingFactorizer::State::maintain() {
  view_window();
  if (fit_.tidy(q, window.size())) fit_.refresh(q, view_);
  if (learned % options.reseed_slices == 0 && fit_.seed(q, view_, 1)) fit_.refresh(q, view_);
}

// The exponent that brings the window's RMS to between 1 and 2. Values a million times the median
// (of a sample, where there are many) do not count in full: one spike must not decide the unit of
// everything else.
bool StreamingFactorizer::State::normalize_window() {
  std::vector<double> sizes;
  double cells = 0.0;
  const std::size_t step = 1 + low_rank_.size() * view_.slices.size() / kWindowSample;
  for (const WindowSlice* slice : view_.slices) {
    cells += double(slice->observed);
    for (std::size_t cell = 0; cell < slice->values.size(); cell += step)
      if (slice->values[cell] != 0.0) sizes.push_back(std::abs(slice->values[cell]));
  }
  if (sizes.empty()) return false;
  const auto middle = sizes.begin() + std::ptrdiff_t(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  // Relative to the median, so that no square overflows.
  const double unit_size = *middle;
  double squares = 0.0;
  for (const WindowSlice* slice : view_.slices)
    for (double value : slice->values) {
      const double size = std::min(std::abs(value) / unit_size, kSpikeOfMedian);
      squares += size * size;
    }
  const int found = std::ilogb(unit_size) + std::ilogb(std::sqrt(squares / cells));
  if (std::abs(found) > kLargestScale) return false;  // its power of two is not a number
  exponent = found;
  for (WindowSlice* slice : view_.slices) {
    for (double& value : slice->values)
      value = std::clamp(std::ldexp(value, -exponent), -kLargestValue, kLargestValue);
    slice->squares = sum_of_squares(slice->values);
  }
  return true;
}

Learned StreamingFactorizer::State::learn_cold() {
  window.commit();
  ++learned;
  if (window.size() < std::min(options.cold_start_slices, options.window))
    return report(SliceStatus::kWarmingUp, 0);
  view_window();
  if (!normalize_window()) return report(SliceStatus::kWarmingUp, 0);
  before_ = q;
  warm = fit_.cold_start(q, view_, newest_outliers) && is_sound(q);
  if (warm) return report(SliceStatus::kConverged, fit_.sweeps());
  // Stay cold, in the unit of the data; the next slice tries again.
  q = before_;
  newest_outliers.clear();
  for (WindowSlice* slice : view_.slices) {
    for (double& value : slice->values) value = std::ldexp(value, exponent);
    slice->squares = sum_of_squares(slice->values);
  }
  exponent = 0;
  return report(SliceStatus::kWarmingUp, 0);
}

bool StreamingFactorizer::State::fit_paper() {
  view_with_staged();
  int sweeps = 0;
  if (!paper_->fit(q, view_, sweeps) || !is_sound(q)) {
    fill_unknown(projection, SliceStatus::kNumericalFailure);
    return false;
  }
  projection.status =
      sweeps < options.cold_sweeps ? SliceStatus::kConverged : SliceStatus::kIterationLimit;
  projection.iterations = sweeps;
  outliers_.clear();
  for (std::size_t cell = 0; cell < paper_->sparse().size(); ++cell)
    if (const SparseCell& sparse = paper_->sparse()[cell]; sparse.variance > 0.0)
      outliers_.push_back({std::int64_t(cell), 0.0, sparse});
  const int newest = view_.size() - 1;
  fill_result(projection, q.time.mean_of(newest), q.time.moment_of(newest), outliers_);
  return true;
}

Learned StreamingFactorizer::State::learn_paper(const Slice& slice) {
  const SliceStatus staged = stage(slice);
  if (staged != SliceStatus::kConverged) {
    fill_unknown(projection, staged);
    return report(staged, 0);
  }
  before_ = q;
  if (!fit_paper()) {
    q = before_;
    return report(SliceStatus::kNumericalFailure, 0);
  }
  window.commit();
  ++learned;
  warm = true;
  return report(projection.status, projection.iterations);
}

}  // namespace outlierd::model
