#include "core/model/streaming_factorizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/model/evidence.h"
#include "core/model/factorizer_state.h"

namespace outlierd::model {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

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

FactorizerOptions checked(FactorizerOptions options) {
  if (const std::string problem = options.problem(); !problem.empty())
    throw std::invalid_argument(problem);
  return options;
}

SliceShape checked(SliceShape shape) {
  if (const std::string problem = problem_of(shape); !problem.empty())
    throw std::invalid_argument(problem);
  return shape;
}

}  // namespace

const char* name_of(SliceStatus status) {
  switch (status) {
    case SliceStatus::kConverged: return "converged";
    case SliceStatus::kIterationLimit: return "iteration_limit";
    case SliceStatus::kWarmingUp: return "warming_up";
    case SliceStatus::kNothingObserved: return "nothing_observed";
    case SliceStatus::kBadInput: return "bad_input";
    case SliceStatus::kNumericalFailure: return "numerical_failure";
  }
  return "unknown";
}

StreamingFactorizer::State::State(SliceShape slice_shape, FactorizerOptions chosen)
    : shape(checked(std::move(slice_shape))),
      options(checked(chosen)),
      window(shape, options.window, options.max_rank),
      q(shape, options.window, options.max_rank),
      flagged_runs(window.layout().padded_cells()),
      team_(options.threads),
      mean_field_(shape, options.window, options.max_rank, team_),
      fit_(shape, options, mean_field_),
      before_(q),
      low_rank_(window.layout().padded_cells()),
      squares_(low_rank_.size()),
      gram_(std::size_t(q.time.moment_stride)),
      load_(std::size_t(q.time.stride)),
      precision_(gram_.size()),
      rhs_(load_.size()),
      c_(load_.size()),
      c_moment_(gram_.size()) {
  if (options.rules == Rules::kPaper)
    paper_ = std::make_unique<PaperFit>(shape, options, mean_field_);
  const std::size_t cells = cell_count(shape);
  for (SliceResult* result : {&projection, &fitted_})
    for (auto* field : {&result->expected, &result->spread, &result->sparse, &result->sparse_spread})
      field->assign(cells, kUnknown);
  newest_outliers.reserve(cells);
  outliers_.reserve(cells);
  other_outliers_.reserve(cells);
  running_.reserve(cells);
  view_.slices.reserve(std::size_t(options.window));
  view_.weights.reserve(std::size_t(options.window));
}

double StreamingFactorizer::State::unit() const { return std::ldexp(1.0, exponent); }

SliceStatus StreamingFactorizer::State::stage(const Slice& slice) {
  if (slice.shape != shape || slice.values.size() != low_rank_.size() / window.layout().stride *
                                                          window.layout().columns ||
      slice.observed.size() != slice.values.size())
    return SliceStatus::kBadInput;
  window.load(slice, std::ldexp(1.0, -exponent), window.staged());
  if (!std::isfinite(window.staged().squares)) return SliceStatus::kBadInput;
  return window.staged().observed == 0 ? SliceStatus::kNothingObserved : SliceStatus::kConverged;
}

void StreamingFactorizer::State::view_window() {
  view_.slices.clear();
  view_.weights.clear();
  for (int k = 0; k < window.size(); ++k) {
    view_.slices.push_back(&window[k]);
    view_.weights.push_back(std::pow(options.forgetting, window.size() - 1 - k));
  }
}

// The window as it will be once the staged slice has joined.
void StreamingFactorizer::State::view_with_staged() {
  view_.slices.clear();
  view_.weights.clear();
  const int first = window.size() == window.capacity() ? 1 : 0;
  for (int k = first; k < window.size(); ++k) view_.slices.push_back(&window[k]);
  view_.slices.push_back(&window.staged());
  for (int k = view_.size() - 1; k >= 0; --k)
    view_.weights.push_back(std::pow(options.forgetting, k));
}

const SliceResult& StreamingFactorizer::State::project(const Slice& slice) {
  const SliceStatus staged = stage(slice);
  if (options.rules == Rules::kPaper) {
    // The printed rules know no projection: the slice is fitted with the window, and forgotten.
    before_ = q;
    if (staged == SliceStatus::kConverged) {
      fit_paper();
    } else {
      fill_unknown(projection, staged);
    }
    q = before_;
    return projection;
  }
  if (staged == SliceStatus::kBadInput || !warm) {
    fill_unknown(projection, staged == SliceStatus::kConverged ? SliceStatus::kWarmingUp : staged);
    return projection;
  }
  outliers_.clear();
  projection.status = staged;
  projection.iterations = 0;
  if (staged == SliceStatus::kNothingObserved) {
    const int newest = window.size() - 1;
    std::copy_n(q.time.mean_of(newest), c_.size(), c_.begin());
    std::copy_n(q.time.moment_of(newest), c_moment_.size(), c_moment_.begin());
  } else {
    projection.status = fit_projection();
  }
  if (projection.status == SliceStatus::kNumericalFailure) {
    fill_unknown(projection, SliceStatus::kNumericalFailure);
    return projection;
  }
  fill_result(projection, c_.data(), c_moment_.data(), outliers_);
  return projection;
}

// c_T of M4 for the staged slice, the given outliers taken out:
//   V = (tau Q + diag(lambda))^-1,  c = tau V (load - sum over outliers of S prod a)
bool StreamingFactorizer::State::solve_time(const std::vector<Outlier>& outliers) {
  const Layout& layout = window.layout();
  for (int r = 0; r < q.rank; ++r) rhs_[r] = load_[r];
  for (const Outlier& outlier : outliers) {
    const double* a = q.modes[0].mean_of(int(outlier.cell / layout.stride));
    const std::ptrdiff_t column = outlier.cell % layout.stride;
    for (int r = 0; r < q.rank; ++r)
      rhs_[r] -= outlier.sparse.value * a[r] * mean_field_.column_factor(r)[column];
  }
  for (int r = 0; r < q.rank; ++r) rhs_[r] *= q.tau;
  return kernels().solve_rows(1, q.rank, precision_.data(), q.time.moment_stride, rhs_.data(),
                              q.time.stride, c_.data(), q.time.stride, c_moment_.data(),
                              q.time.moment_stride);
}

// A fixed: c_T (M4) and S (M10) in turn. Both are local, so it matters where they start: from the
// c of the slice before, or from the c that explains this slice without outliers, whichever costs
// less. The first is right when a quiet network has a spike, the second when all of it moved.
SliceStatus StreamingFactorizer::State::fit_projection() {
  WindowSlice& staged = window.staged();
  const LevelRule levels{flagged_runs.data(), options.level_slices};
  mean_field_.project(q, staged);
  mean_field_.summarize(q, staged, gram_.data(), load_.data());
  for (int p = 0; p < packed_size(q.rank); ++p) precision_[p] = q.tau * gram_[p];
  for (int r = 0; r < q.rank; ++r) precision_[packed_index(r, r)] += q.lambda[r];

  if (!solve_time(outliers_)) return SliceStatus::kNumericalFailure;
  if (!options.sparse) {
    projection.iterations = 1;
    return SliceStatus::kConverged;
  }
  const double cost = fit_.find_outliers(q, staged, c_.data(), levels, outliers_);
  const double* previous = q.time.mean_of(window.size() - 1);
  if (!outliers_.empty() &&
      fit_.find_outliers(q, staged, previous, levels, other_outliers_) < cost)
    outliers_.swap(other_outliers_);

  for (int round = 1; round <= options.projection_rounds; ++round) {
    projection.iterations = round;
    double before[kMaxRank];
    std::copy_n(c_.begin(), q.rank, before);
    if (!solve_time(outliers_)) return SliceStatus::kNumericalFailure;
    double moved = 0.0, size = 0.0;
    for (int r = 0; r < q.rank; ++r) {
      moved += (c_[r] - before[r]) * (c_[r] - before[r]);
      size += c_[r] * c_[r];
    }
    if (!std::isfinite(moved)) return SliceStatus::kNumericalFailure;
    if (round > 1 && moved <= options.tolerance * options.tolerance * size)
      return SliceStatus::kConverged;
    fit_.find_outliers(q, staged, c_.data(), levels, outliers_);
  }
  return SliceStatus::kIterationLimit;
}

Learned StreamingFactorizer::State::report(SliceStatus status, int iterations) const {
  return {status, iterations, warm ? q.rank : 0, warm ? q.tau / (unit() * unit()) : 0.0};
}

Learned StreamingFactorizer::State::update(const Slice& slice) {
  if (options.rules == Rules::kPaper) return learn_paper(slice);
  const SliceStatus status = project(slice).status;
  switch (status) {
    case SliceStatus::kWarmingUp: return learn_cold();
    case SliceStatus::kConverged:
    case SliceStatus::kIterationLimit: return learn();
    default: return report(status, 0);
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

bool StreamingFactorizer::State::normalize_window() {
  double largest = 0.0;
  for (const WindowSlice* slice : view_.slices)
    for (double value : slice->values) largest = std::max(largest, std::abs(value));
  if (!(largest > 0.0)) return false;
  // By the largest first, so that no square overflows.
  const double first = std::ldexp(1.0, -std::ilogb(largest));
  double squares = 0.0, cells = 0.0;
  for (const WindowSlice* slice : view_.slices) {
    for (double value : slice->values) squares += value * first * (value * first);
    cells += double(slice->observed);
  }
  exponent = std::ilogb(largest) + std::ilogb(std::sqrt(squares / cells));
  for (WindowSlice* slice : view_.slices) {
    for (double& value : slice->values) value = std::ldexp(value, -exponent);
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
  warm = fit_.cold_start(q, view_, newest_outliers) && is_sound(q);
  if (warm) return report(SliceStatus::kConverged, options.cold_sweeps);
  // Stay cold, in the unit of the data; the next slice tries again.
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
  projection.status = sweeps < options.cold_sweeps ? SliceStatus::kConverged
                                                   : SliceStatus::kIterationLimit;
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

const SliceResult& StreamingFactorizer::State::fitted() {
  if (!warm || options.rules == Rules::kPaper) {
    fitted_ = projection;
    return fitted_;
  }
  const int newest = window.size() - 1;
  fitted_.status = SliceStatus::kConverged;
  fill_result(fitted_, q.time.mean_of(newest), q.time.moment_of(newest),
              newest_outliers);
  return fitted_;
}

void StreamingFactorizer::State::resume() {
  for (std::size_t cell = 0; cell < flagged_runs.size(); ++cell)
    if (flagged_runs[cell] > 0) running_.push_back(std::int64_t(cell));
  view_window();
  if (warm && options.rules == Rules::kOutlierd) fit_.refresh(q, view_);
}

double StreamingFactorizer::State::evidence_bound() {
  if (!warm) return kUnknown;
  view_window();
  return model::evidence_bound(q, view_, mean_field_, {});
}

void StreamingFactorizer::State::fill_unknown(SliceResult& result, SliceStatus status) const {
  result.status = status;
  for (auto* field : {&result.expected, &result.spread, &result.sparse, &result.sparse_spread})
    std::fill(field->begin(), field->end(), kUnknown);
  result.iterations = 0;
  result.rank = warm ? q.rank : 0;
  result.noise_precision = warm ? q.tau / (unit() * unit()) : 0.0;
}

void StreamingFactorizer::State::fill_result(SliceResult& result, const double* c, const double* moment,
                                             std::span<const Outlier> outliers) {
  const Layout& layout = window.layout();
  const double scale = unit();
  mean_field_.low_rank(q, c, low_rank_.data());
  mean_field_.low_rank_squares(q, moment, squares_.data());
  std::size_t cell = 0;
  for (std::ptrdiff_t i = 0; i < layout.rows; ++i)
    for (std::ptrdiff_t at = i * layout.stride; at < i * layout.stride + layout.columns;
         ++at, ++cell) {
      const double variance = squares_[at] - low_rank_[at] * low_rank_[at];
      result.expected[cell] = scale * low_rank_[at];
      result.spread[cell] = scale * std::sqrt(std::max(0.0, variance) + 1.0 / q.tau);
    }
  std::fill(result.sparse.begin(), result.sparse.end(), 0.0);
  std::fill(result.sparse_spread.begin(), result.sparse_spread.end(), 0.0);
  for (const Outlier& outlier : outliers) {
    const std::int64_t at =
        outlier.cell / layout.stride * layout.columns + outlier.cell % layout.stride;
    result.sparse[at] = scale * outlier.sparse.value;
    result.sparse_spread[at] = scale * std::sqrt(outlier.sparse.variance);
  }
  result.rank = q.rank;
  result.noise_precision = q.tau / (scale * scale);
}

StreamingFactorizer::StreamingFactorizer(SliceShape shape, FactorizerOptions options)
    : state_(std::make_unique<State>(std::move(shape), options)) {}
StreamingFactorizer::StreamingFactorizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
StreamingFactorizer::~StreamingFactorizer() = default;
StreamingFactorizer::StreamingFactorizer(StreamingFactorizer&&) noexcept = default;
StreamingFactorizer& StreamingFactorizer::operator=(StreamingFactorizer&&) noexcept = default;

const SliceResult& StreamingFactorizer::project(const Slice& slice) { return state_->project(slice); }
Learned StreamingFactorizer::update(const Slice& slice) { return state_->update(slice); }
const SliceResult& StreamingFactorizer::projection() const { return state_->projection; }
const SliceResult& StreamingFactorizer::fitted() { return state_->fitted(); }
const SliceShape& StreamingFactorizer::shape() const { return state_->shape; }
const FactorizerOptions& StreamingFactorizer::options() const { return state_->options; }
bool StreamingFactorizer::warm() const { return state_->warm; }
std::int64_t StreamingFactorizer::slices_learned() const { return state_->learned; }
double StreamingFactorizer::evidence_bound() { return state_->evidence_bound(); }

std::vector<double> StreamingFactorizer::component_strengths() const {
  std::vector<double> strengths;
  for (int r = 0; r < state_->q.rank; ++r)
    strengths.push_back(std::ldexp(state_->q.strength(r, state_->window.size()), state_->exponent));
  std::sort(strengths.rbegin(), strengths.rend());
  return strengths;
}

}  // namespace outlierd::model
