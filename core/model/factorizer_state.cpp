// A slice against the model: staging, projection, results.

#include "core/model/factorizer_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/model/evidence.h"

namespace outlierd::model {
namespace {

constexpr double kSettled = 0.1;  // c has settled when it moves by less, in its own spreads
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

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
    for (auto* field :
         {&result->expected, &result->spread, &result->sparse, &result->sparse_spread})
      field->assign(cells, kUnknown);
  newest_outliers.reserve(cells);
  outliers_.reserve(cells);
  other_outliers_.reserve(cells);
  cut_.reserve(cells);
  running_.reserve(cells);
  view_.slices.reserve(std::size_t(options.window));
  view_.weights.reserve(std::size_t(options.window));
}

double StreamingFactorizer::State::unit() const { return std::ldexp(1.0, exponent); }

SliceStatus StreamingFactorizer::State::stage(const Slice& slice) {
  if (slice.shape != shape || slice.values.size() != cell_count(shape) ||
      slice.observed.size() != slice.values.size())
    return SliceStatus::kBadInput;
  window.load(slice, std::ldexp(1.0, -exponent), window.staged());
  cut_.clear();
  if (!std::isfinite(window.staged().squares)) return SliceStatus::kBadInput;
  if (warm && options.rules == Rules::kOutlierd) cut_to_size(window.staged());
  return window.staged().observed == 0 ? SliceStatus::kNothingObserved : SliceStatus::kConverged;
}

void StreamingFactorizer::State::cut_to_size(WindowSlice& slice) {
  if (slice.squares < kLargestValue * kLargestValue) return;
  for (std::size_t cell = 0; cell < slice.values.size(); ++cell) {
    const double whole = slice.values[cell];
    if (std::abs(whole) <= kLargestValue) continue;
    slice.values[cell] = std::copysign(kLargestValue, whole);
    cut_.emplace_back(std::int64_t(cell), whole - slice.values[cell]);
  }
  slice.squares = sum_of_squares(slice.values);
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
  const Layout& layout = window.layout();
  for (const auto& [cell, excess] : cut_)
    projection.sparse[std::size_t(cell / layout.stride * layout.columns + cell % layout.stride)] +=
        unit() * excess;
  return projection;
}

const SliceResult& StreamingFactorizer::State::project_with(const Slice& slice,
                                                            double noise_precision) {
  const double learned_tau = q.tau, wanted = noise_precision * unit() * unit();
  if (warm && std::isfinite(wanted) && wanted > 0.0) q.tau = wanted;
  project(slice);
  q.tau = learned_tau;
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
      fit_.find_outliers(q, staged, previous, levels, other_outliers_, cost) < cost)
    outliers_.swap(other_outliers_);

  for (int round = 1; round <= options.projection_rounds; ++round) {
    projection.iterations = round;
    double before[kMaxRank];
    std::copy_n(c_.begin(), q.rank, before);
    if (!solve_time(outliers_)) return SliceStatus::kNumericalFailure;
    double moved = 0.0, variance = 0.0;
    for (int r = 0; r < q.rank; ++r) {
      moved += (c_[r] - before[r]) * (c_[r] - before[r]);
      variance += c_moment_[packed_index(r, r)] - c_[r] * c_[r];
    }
    if (!std::isfinite(moved)) return SliceStatus::kNumericalFailure;
    if (round > 1 && moved <= kSettled * kSettled * variance) return SliceStatus::kConverged;
    fit_.find_outliers(q, staged, c_.data(), levels, outliers_);
  }
  return SliceStatus::kIterationLimit;
}

const SliceResult& StreamingFactorizer::State::fitted() {
  if (!warm || options.rules == Rules::kPaper) {
    fitted_ = projection;
    return fitted_;
  }
  const int newest = window.size() - 1;
  fitted_.status = SliceStatus::kConverged;
  fill_result(fitted_, q.time.mean_of(newest), q.time.moment_of(newest), newest_outliers);
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

void StreamingFactorizer::State::fill_result(SliceResult& result, const double* c,
                                             const double* moment,
                                             std::span<const Outlier> outliers) {
  const Layout& layout = window.layout();
  const double scale = unit(), noise = 1.0 / q.tau;
  mean_field_.low_rank(q, c, low_rank_.data());
  mean_field_.low_rank_squares(q, moment, squares_.data());
  mean_field_.for_rows([&](int begin, int end) {
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      const double* mean = low_rank_.data() + i * layout.stride;
      const double* square = squares_.data() + i * layout.stride;
      double* expected = result.expected.data() + i * layout.columns;
      double* spread = result.spread.data() + i * layout.columns;
      for (int j = 0; j < layout.columns; ++j) {
        const double variance = square[j] - mean[j] * mean[j];
        expected[j] = scale * mean[j];
        spread[j] = scale * std::sqrt((variance > 0.0 ? variance : 0.0) + noise);
      }
    }
  });
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

}  // namespace outlierd::model
