#include "core/model/mean_field.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

namespace outlierd::model {
namespace {

constexpr int kRowBlock = 8;          // rows that masked_sums takes at once
constexpr double kWorthAThread = 2e5; // multiply-adds that outweigh waking a thread
constexpr double kRounding = 1e-14;   // of a difference of sums, relative to the sums

void add_scaled(int n, double factor, const double* x, double* y) {
  for (int p = 0; p < n; ++p) y[p] += factor * x[p];
}

void add_product(int n, double factor, const double* x, const double* y, double* z) {
  for (int p = 0; p < n; ++p) z[p] += factor * x[p] * y[p];
}

void sum_moments(int rows, int n, const double* moments, std::ptrdiff_t ld, double* total) {
  std::fill_n(total, n, 0.0);
  for (int i = 0; i < rows; ++i) add_scaled(n, 1.0, moments + i * ld, total);
}

void sum_words(int rows, int n, const double* moments, std::ptrdiff_t ld, AlignedDoubles& sums) {
  for (int first = 0; first < rows; first += kBitsInWord)
    sum_moments(std::min(kBitsInWord, rows - first), n, moments + first * ld, ld,
                sums.data() + first / kBitsInWord * ld);
}

}  // namespace

MeanField::MeanField(const SliceShape& shape, int window, int max_rank, ThreadTeam& team)
    : shape_(shape),
      layout_(shape),
      mode_steps_(shape.size(), 1),
      stride_(padded(max_rank)),
      moment_stride_(padded(packed_size(max_rank))),
      team_(team),
      kernels_(kernels()) {
  for (int mode = int(shape.size()) - 2; mode >= 1; --mode)
    mode_steps_[mode] = mode_steps_[mode + 1] * shape[mode + 1];
  const auto rows = std::size_t(layout_.rows), columns = std::size_t(layout_.columns);
  const std::size_t longest = *std::max_element(shape.begin(), shape.end());
  k_.resize(std::size_t(max_rank) * layout_.stride);
  k_moments_.resize(columns * moment_stride_);
  k_word_sums_.resize(std::size_t(layout_.row_words) * moment_stride_);
  a_word_sums_.resize(std::size_t(layout_.column_words) * moment_stride_);
  gram_.assign(shape.size(), AlignedDoubles(std::size_t(moment_stride_)));
  k_gram_.resize(moment_stride_);
  z_.resize(k_.size());
  h_.resize(columns * moment_stride_);
  const std::size_t scratch = std::size_t(window) * kRowBlock * moment_stride_;
  h_scratch_.resize(scratch * team.threads());
  x_.resize(rows * stride_);
  precision_.resize(longest * moment_stride_);
  rhs_.resize(longest * stride_);
  grams_.resize(std::size_t(window) * moment_stride_);
  loads_.resize(std::size_t(window) * stride_);
  time_precision_.resize(grams_.size());
  time_load_.resize(loads_.size());
  weighted_time_.resize(moment_stride_);
  bits_.resize(window);
  sums_.resize(window);
  thread_sums_.resize(std::size_t(window) * team.threads());
}

int MeanField::parts(int n, int step, double work_per_item) const {
  const int by_work = int(std::min(1e6, n * work_per_item / kWorthAThread));
  return std::clamp(std::min(by_work, (n + step - 1) / step), 1, team_.threads());
}

namespace {

// Part `part` of `parts` of [0, n), bounds on multiples of step.
struct Range {
  int begin, end;
};
Range range_of(int part, int parts, int n, int step) {
  const int steps = (n + step - 1) / step;
  const auto bound = [&](int p) { return std::min(n, int(std::int64_t(steps) * p / parts) * step); };
  return {bound(part), bound(part + 1)};
}

}  // namespace

void MeanField::refresh_rows(const Posterior& q) {
  const FactorRows& a = q.modes[0];
  const int packed = padded(packed_size(q.rank));
  sum_words(a.rows, packed, a.moment.data(), moment_stride_, a_word_sums_);
  sum_moments(layout_.column_words, packed, a_word_sums_.data(), moment_stride_, gram_[0].data());
}

void MeanField::refresh_columns(const Posterior& q) {
  const int packed = padded(packed_size(q.rank));
  const int modes = int(q.modes.size());
  for (int j = 0; j < layout_.columns; ++j) {
    double* moment = k_moments_.data() + std::ptrdiff_t(j) * moment_stride_;
    std::fill_n(moment, packed, 1.0);
    for (int r = 0; r < q.rank; ++r) k_[std::ptrdiff_t(r) * layout_.stride + j] = 1.0;
    for (int mode = 1; mode < modes; ++mode) {
      const int i = coordinate(j, mode);
      const double* m = q.modes[mode].moment_of(i);
      const double* a = q.modes[mode].mean_of(i);
      for (int p = 0; p < packed; ++p) moment[p] *= m[p];
      for (int r = 0; r < q.rank; ++r) k_[std::ptrdiff_t(r) * layout_.stride + j] *= a[r];
    }
  }
  sum_words(layout_.columns, packed, k_moments_.data(), moment_stride_, k_word_sums_);
  sum_moments(layout_.row_words, packed, k_word_sums_.data(), moment_stride_, k_gram_.data());
  for (int mode = 1; mode < modes; ++mode)
    sum_moments(q.modes[mode].rows, packed, q.modes[mode].moment.data(), moment_stride_,
                gram_[mode].data());
}

void MeanField::project_values(const Posterior& q, WindowSlice& slice) {
  kernels_.multiply(slice.values.data(), layout_.stride, layout_.rows, layout_.stride, k_.data(),
                    layout_.stride, q.rank, slice.projected.data(), stride_);
}

void MeanField::project(const Posterior& q, WindowSlice& slice) {
  project_values(q, slice);
  if (slice.full) return;
  const std::uint64_t* bits = slice.row_bits.data();
  double* sums = slice.moment_sums.data();
  kernels_.masked_sums(&bits, layout_.row_words, 1, 0, layout_.rows, layout_.columns,
                       k_moments_.data(), moment_stride_, k_word_sums_.data(), moment_stride_,
                       padded(packed_size(q.rank)), &sums, moment_stride_);
}

void MeanField::project(const Posterior& q, const WindowView& view) {
  const double pass = double(layout_.rows) * layout_.stride;
  const int value_parts = parts(view.size(), 1, pass * q.rank) > 1 ? view.size() : 1;
  team_.run(value_parts, [&](int part) {
    const Range slices = range_of(part, value_parts, view.size(), 1);
    for (int t = slices.begin; t < slices.end; ++t) project_values(q, *view.slices[t]);
  });
  if (all_full(view)) return;

  for (int t = 0; t < view.size(); ++t) {
    bits_[t] = view.slices[t]->row_bits.data();
    sums_[t] = view.slices[t]->full ? nullptr : view.slices[t]->moment_sums.data();
  }
  const int packed = padded(packed_size(q.rank));
  const int row_parts =
      parts(layout_.rows, kRowBlock, double(layout_.columns) * view.size() * packed * 0.5);
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, layout_.rows, kRowBlock);
    double** sums = thread_sums_.data() + std::ptrdiff_t(part) * view.size();
    for (int t = 0; t < view.size(); ++t)
      sums[t] = sums_[t] ? sums_[t] + std::ptrdiff_t(rows.begin) * moment_stride_ : nullptr;
    kernels_.masked_sums(bits_.data(), layout_.row_words, view.size(), rows.begin, rows.end,
                         layout_.columns, k_moments_.data(), moment_stride_, k_word_sums_.data(),
                         moment_stride_, packed, sums, moment_stride_);
  });
}

bool MeanField::all_full(const WindowView& view) const {
  return std::all_of(view.slices.begin(), view.slices.end(),
                     [](const WindowSlice* slice) { return slice->full; });
}

void MeanField::sum_time_moments(const Posterior& q, const WindowView& view, bool only_full) {
  std::fill(weighted_time_.begin(), weighted_time_.end(), 0.0);
  for (int t = 0; t < view.size(); ++t)
    if (!only_full || view.slices[t]->full)
      add_scaled(packed_size(q.rank), view.weights[t], q.time.moment_of(t), weighted_time_.data());
}

bool MeanField::solve_shared(const Posterior& q, const double* gram, FactorRows& factor) {
  const int packed = packed_size(q.rank);
  double* shared = precision_.data();
  for (int p = 0; p < packed; ++p) shared[p] = q.tau * gram[p];
  for (int r = 0; r < q.rank; ++r) shared[packed_index(r, r)] += q.lambda[r];
  // With a zero right-hand side the mean is zero and the moment is V itself.
  double none[kMaxRank] = {};
  double zero_mean[kMaxRank];
  if (!kernels_.solve_rows(1, q.rank, shared, moment_stride_, none, stride_, zero_mean, stride_,
                           shared, moment_stride_))
    return false;

  double v[kMaxRank * kMaxRank];
  for (int r = 0; r < q.rank; ++r)
    for (int s = 0; s < q.rank; ++s) v[r * q.rank + s] = shared[packed_index(r, s)];
  for (int i = 0; i < factor.rows; ++i) {
    const double* rhs = rhs_.data() + std::ptrdiff_t(i) * stride_;
    double* mean = factor.mean_of(i);
    double* moment = factor.moment_of(i);
    double sums[kMaxRank] = {};
    for (int s = 0; s < q.rank; ++s) add_scaled(q.rank, rhs[s], v + s * q.rank, sums);
    std::copy_n(sums, q.rank, mean);
    for (int r = 0, p = 0; r < q.rank; ++r)
      for (int s = 0; s <= r; ++s, ++p) moment[p] = shared[p] + mean[r] * mean[s];
  }
  return true;
}

bool MeanField::solve_each(const Posterior& q, FactorRows& factor) {
  std::atomic<bool> ok{true};
  const int row_parts = parts(factor.rows, kRowBlock, double(q.rank) * q.rank * q.rank * 4);
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, factor.rows, kRowBlock);
    const std::ptrdiff_t first = rows.begin;
    if (!kernels_.solve_rows(rows.end - rows.begin, q.rank,
                             precision_.data() + first * moment_stride_, moment_stride_,
                             rhs_.data() + first * stride_, stride_, factor.mean_of(rows.begin),
                             stride_, factor.moment_of(rows.begin), moment_stride_))
      ok = false;
  });
  return ok;
}

// M3 for the first mode:
//
//   V_i = ( tau sum_t w_t (masked sum of E[k k'])_it * E[c_t c_t'] + diag(lambda) )^-1
//   a_i = tau V_i sum_t w_t (D_t K)_i * c_t
bool MeanField::update_row_mode(Posterior& q, const WindowView& view) {
  FactorRows& a = q.modes[0];
  const int rank = q.rank, packed = packed_size(rank);
  const bool shared = all_full(view);
  sum_time_moments(q, view, !shared);

  const int row_parts = parts(a.rows, kRowBlock, double(view.size()) * (shared ? rank : packed));
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, a.rows, kRowBlock);
    for (int i = rows.begin; i < rows.end; ++i) {
      double* rhs = rhs_.data() + std::ptrdiff_t(i) * stride_;
      std::fill_n(rhs, rank, 0.0);
      for (int t = 0; t < view.size(); ++t)
        add_product(rank, q.tau * view.weights[t], q.time.mean_of(t),
                    view.slices[t]->projected.data() + std::ptrdiff_t(i) * stride_, rhs);
      if (shared) continue;
      double* precision = precision_.data() + std::ptrdiff_t(i) * moment_stride_;
      for (int p = 0; p < packed; ++p) precision[p] = weighted_time_[p] * k_gram_[p];
      for (int t = 0; t < view.size(); ++t)
        if (!view.slices[t]->full)
          add_product(packed, view.weights[t], q.time.moment_of(t),
                      view.slices[t]->moment_sums.data() + std::ptrdiff_t(i) * moment_stride_,
                      precision);
      for (int p = 0; p < packed; ++p) precision[p] *= q.tau;
      for (int r = 0; r < rank; ++r) precision[packed_index(r, r)] += q.lambda[r];
    }
  });
  if (shared) {
    for (int p = 0; p < packed; ++p) weighted_time_[p] *= k_gram_[p];
    if (!solve_shared(q, weighted_time_.data(), a)) return false;
  } else if (!solve_each(q, a)) {
    return false;
  }
  refresh_rows(q);
  return true;
}

// z[r, j] = sum_t w_t c_t[r] sum_i D_t[i, j] a_i[r]
void MeanField::fold(const Posterior& q, const WindowView& view) {
  const FactorRows& a = q.modes[0];
  const int rank = q.rank;
  const double work = double(view.size()) * layout_.rows * rank;
  const int column_parts = parts(layout_.stride, 2 * kColumnStep, work);
  team_.run(column_parts, [&](int part) {
    const Range columns = range_of(part, column_parts, layout_.stride, 2 * kColumnStep);
    for (int r = 0; r < rank; ++r)
      std::fill(z_.begin() + std::ptrdiff_t(r) * layout_.stride + columns.begin,
                z_.begin() + std::ptrdiff_t(r) * layout_.stride + columns.end, 0.0);
  });
  for (int t = 0; t < view.size(); ++t) {
    const double* c = q.time.mean_of(t);
    for (int i = 0; i < a.rows; ++i) {
      double* x = x_.data() + std::ptrdiff_t(i) * stride_;
      for (int r = 0; r < rank; ++r) x[r] = view.weights[t] * c[r] * a.mean_of(i)[r];
    }
    team_.run(column_parts, [&](int part) {
      const Range columns = range_of(part, column_parts, layout_.stride, 2 * kColumnStep);
      kernels_.multiply_transposed(view.slices[t]->values.data() + columns.begin, layout_.stride,
                                   a.rows, columns.end - columns.begin, x_.data(), stride_, rank,
                                   z_.data() + columns.begin, layout_.stride);
    });
  }
}

// h[j] = sum_t w_t E[c_t c_t'] * (masked sum over rows of E[a a'])_jt
void MeanField::fold_moments(const Posterior& q, const WindowView& view) {
  const int packed = packed_size(q.rank), wide = padded(packed);
  sum_time_moments(q, view, true);
  for (int t = 0; t < view.size(); ++t) bits_[t] = view.slices[t]->column_bits.data();
  const double work = double(layout_.rows) * view.size() * packed * 0.5;
  const int column_parts = parts(layout_.columns, kRowBlock, work);
  team_.run(column_parts, [&](int part) {
    const Range columns = range_of(part, column_parts, layout_.columns, kRowBlock);
    double** sums = thread_sums_.data() + std::ptrdiff_t(part) * view.size();
    double* scratch = h_scratch_.data() + std::ptrdiff_t(part) * std::ptrdiff_t(h_scratch_.size()) /
                                              team_.threads();
    for (int t = 0; t < view.size(); ++t)
      sums[t] = view.slices[t]->full ? nullptr
                                     : scratch + std::ptrdiff_t(t) * kRowBlock * moment_stride_;
    for (int first = columns.begin; first < columns.end; first += kRowBlock) {
      const int last = std::min(first + kRowBlock, columns.end);
      kernels_.masked_sums(bits_.data(), layout_.column_words, view.size(), first, last,
                           layout_.rows, q.modes[0].moment.data(), moment_stride_,
                           a_word_sums_.data(), moment_stride_, wide, sums, moment_stride_);
      for (int j = first; j < last; ++j) {
        double* h = h_.data() + std::ptrdiff_t(j) * moment_stride_;
        for (int p = 0; p < packed; ++p) h[p] = weighted_time_[p] * gram_[0][p];
        for (int t = 0; t < view.size(); ++t)
          if (sums[t])
            add_product(packed, view.weights[t], q.time.moment_of(t),
                        sums[t] + std::ptrdiff_t(j - first) * moment_stride_, h);
      }
    }
  });
}

// Right-hand sides, and precisions where they differ between rows, of one column mode: z and h
// summed over the columns of each row, times the factors of the other column modes.
void MeanField::gather_column_mode(const Posterior& q, int mode, bool full) {
  const int rank = q.rank, packed = packed_size(rank);
  const int modes = int(q.modes.size());
  const int rows = q.modes[mode].rows;
  for (int i = 0; i < rows; ++i) {
    std::fill_n(rhs_.data() + std::ptrdiff_t(i) * stride_, rank, 0.0);
    if (!full) std::fill_n(precision_.data() + std::ptrdiff_t(i) * moment_stride_, packed, 0.0);
  }
  for (int j = 0; j < layout_.columns; ++j) {
    double mean[kMaxRank];
    double moment[kMaxRank * (kMaxRank + 1) / 2];
    for (int r = 0; r < rank; ++r) mean[r] = q.tau * z_[std::ptrdiff_t(r) * layout_.stride + j];
    const double* h = h_.data() + std::ptrdiff_t(j) * moment_stride_;
    if (!full)
      for (int p = 0; p < packed; ++p) moment[p] = q.tau * h[p];
    for (int other = 1; other < modes; ++other) {
      if (other == mode) continue;
      const double* a = q.modes[other].mean_of(coordinate(j, other));
      const double* m = q.modes[other].moment_of(coordinate(j, other));
      for (int r = 0; r < rank; ++r) mean[r] *= a[r];
      if (!full)
        for (int p = 0; p < packed; ++p) moment[p] *= m[p];
    }
    const std::ptrdiff_t i = coordinate(j, mode);
    add_scaled(rank, 1.0, mean, rhs_.data() + i * stride_);
    if (!full) add_scaled(packed, 1.0, moment, precision_.data() + i * moment_stride_);
  }
  if (!full)
    for (int i = 0; i < rows; ++i)
      for (int r = 0; r < rank; ++r)
        precision_[std::ptrdiff_t(i) * moment_stride_ + packed_index(r, r)] += q.lambda[r];
}

bool MeanField::update_column_modes(Posterior& q, const WindowView& view) {
  const int modes = int(q.modes.size());
  if (modes == 1) return true;
  const int packed = packed_size(q.rank);
  const bool full = all_full(view);
  fold(q, view);
  if (!full) fold_moments(q, view);
  for (int mode = 1; mode < modes; ++mode) {
    gather_column_mode(q, mode, full);
    if (full) {
      sum_time_moments(q, view, false);
      for (int other = 0; other < modes; ++other)
        if (other != mode)
          for (int p = 0; p < packed; ++p) weighted_time_[p] *= gram_[other][p];
      if (!solve_shared(q, weighted_time_.data(), q.modes[mode])) return false;
      sum_moments(q.modes[mode].rows, packed, q.modes[mode].moment.data(), moment_stride_,
                  gram_[mode].data());
    } else if (!solve_each(q, q.modes[mode])) {
      return false;
    }
  }
  refresh_columns(q);
  return true;
}

void MeanField::summarize(const Posterior& q, const WindowSlice& slice, double* gram,
                          double* load) const {
  const FactorRows& a = q.modes[0];
  const int packed = packed_size(q.rank);
  std::fill_n(load, q.rank, 0.0);
  for (int i = 0; i < a.rows; ++i)
    add_product(q.rank, 1.0, a.mean_of(i), slice.projected.data() + std::ptrdiff_t(i) * stride_,
                load);
  std::fill_n(gram, packed, 0.0);
  if (slice.full) {
    add_product(packed, 1.0, gram_[0].data(), k_gram_.data(), gram);
    return;
  }
  for (int i = 0; i < a.rows; ++i)
    add_product(packed, 1.0, a.moment_of(i),
                slice.moment_sums.data() + std::ptrdiff_t(i) * moment_stride_, gram);
}

// M4: V_t = (tau w_t Q_t + diag(lambda))^-1,  c_t = tau w_t V_t load_t
bool MeanField::update_time(Posterior& q, const WindowView& view) {
  const int rank = q.rank, packed = packed_size(rank);
  const int slice_parts = parts(view.size(), 1, double(layout_.rows) * packed);
  team_.run(slice_parts, [&](int part) {
    const Range slices = range_of(part, slice_parts, view.size(), 1);
    for (int t = slices.begin; t < slices.end; ++t)
      summarize(q, *view.slices[t], grams_.data() + std::ptrdiff_t(t) * moment_stride_,
                loads_.data() + std::ptrdiff_t(t) * stride_);
  });
  // Scaled copies; grams_ and loads_ stay as they are for expected_error().
  double* const precisions = time_precision_.data();
  double* const loads = time_load_.data();
  for (int t = 0; t < view.size(); ++t) {
    const double weight = q.tau * view.weights[t];
    double* precision = precisions + std::ptrdiff_t(t) * moment_stride_;
    double* load = loads + std::ptrdiff_t(t) * stride_;
    for (int p = 0; p < packed; ++p)
      precision[p] = weight * grams_[std::ptrdiff_t(t) * moment_stride_ + p];
    for (int r = 0; r < rank; ++r) {
      precision[packed_index(r, r)] += q.lambda[r];
      load[r] = weight * loads_[std::ptrdiff_t(t) * stride_ + r];
    }
  }
  return kernels_.solve_rows(view.size(), rank, precisions, moment_stride_, loads, stride_,
                             q.time.mean_of(0), stride_, q.time.moment_of(0), moment_stride_);
}

double MeanField::component_count(int slices) const {
  double rows = slices;
  for (int size : shape_) rows += size;
  return 0.5 * rows;
}

// M5
void MeanField::update_component_precision(Posterior& q, int slices, double count) const {
  for (int r = 0; r < q.rank; ++r) {
    double squares = 0.0;
    const int rr = packed_index(r, r);
    for (const FactorRows& mode : q.modes)
      for (int i = 0; i < mode.rows; ++i) squares += mode.moment_of(i)[rr];
    for (int t = 0; t < slices; ++t) squares += q.time.moment_of(t)[rr];
    q.lambda[r] = (kGammaPrior + count) / (kGammaPrior + 0.5 * squares);
  }
}

double MeanField::expected_error(const Posterior& q, const WindowSlice& slice, int time_row,
                                 const double* gram, const double* load) const {
  const double* c = q.time.mean_of(time_row);
  double cross = 0.0;
  for (int r = 0; r < q.rank; ++r) cross += c[r] * load[r];
  const double square = packed_dot(q.rank, gram, q.time.moment_of(time_row));
  const double rounding = kRounding * (slice.squares + square);
  return std::max(rounding, slice.squares - 2.0 * cross + square);
}

double MeanField::summarized_error(const Posterior& q, const WindowView& view, int t) const {
  return expected_error(q, *view.slices[t], t, grams_.data() + std::ptrdiff_t(t) * moment_stride_,
                        loads_.data() + std::ptrdiff_t(t) * stride_);
}

double MeanField::summarized_error(const Posterior& q, const WindowView& view) const {
  double total = 0.0;
  for (int t = 0; t < view.size(); ++t) total += view.weights[t] * summarized_error(q, view, t);
  return total;
}

void MeanField::low_rank(const Posterior& q, const double* c, double* out) {
  const FactorRows& a = q.modes[0];
  for (int i = 0; i < a.rows; ++i)
    for (int r = 0; r < q.rank; ++r)
      x_[std::ptrdiff_t(i) * stride_ + r] = -c[r] * a.mean_of(i)[r];
  const int row_parts = parts(a.rows, kRowBlock, double(layout_.stride) * (q.rank + 4));
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, a.rows, kRowBlock);
    kernels_.subtract_low_rank(nullptr, 0, rows.end - rows.begin, layout_.stride,
                               x_.data() + std::ptrdiff_t(rows.begin) * stride_, stride_, k_.data(),
                               layout_.stride, q.rank,
                               out + std::ptrdiff_t(rows.begin) * layout_.stride, layout_.stride);
  });
}

void MeanField::residual(const Posterior& q, const WindowSlice& slice, const double* c,
                         const double* base, double* out) {
  const FactorRows& a = q.modes[0];
  for (int i = 0; i < a.rows; ++i)
    for (int r = 0; r < q.rank; ++r) x_[std::ptrdiff_t(i) * stride_ + r] = c[r] * a.mean_of(i)[r];
  const int row_parts = parts(a.rows, kRowBlock, double(layout_.stride) * (q.rank + 4));
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, a.rows, kRowBlock);
    for (int i = rows.begin; i < rows.end; i += kRowBlock) {
      const int count = std::min(kRowBlock, rows.end - i);
      const std::ptrdiff_t at = std::ptrdiff_t(i) * layout_.stride;
      kernels_.subtract_low_rank(base + at, layout_.stride, count, layout_.stride,
                                 x_.data() + std::ptrdiff_t(i) * stride_, stride_, k_.data(),
                                 layout_.stride, q.rank, out + at, layout_.stride);
      if (slice.full) continue;
      for (int row = i; row < i + count; ++row)
        for (int word = 0; word < layout_.row_words; ++word) {
          std::uint64_t missing = ~slice.row_bits[std::ptrdiff_t(row) * layout_.row_words + word];
          const int left = layout_.columns - word * kBitsInWord;
          if (left < kBitsInWord) missing &= (std::uint64_t{1} << left) - 1;
          double* cells = out + std::ptrdiff_t(row) * layout_.stride + word * kBitsInWord;
          for (; missing; missing &= missing - 1) cells[std::countr_zero(missing)] = 0.0;
        }
    }
  });
}

void MeanField::low_rank_squares(const Posterior& q, const double* c_moment, double* out) {
  const FactorRows& a = q.modes[0];
  // Without a component one zero is summed, so that out is written all the same.
  const int packed = packed_size(q.rank), wide = std::max(padded(packed), kColumnStep);
  const int row_parts = parts(a.rows, kRowBlock, double(layout_.columns) * packed);
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, a.rows, kRowBlock);
    double weights[kRowBlock][padded(packed_size(kMaxRank))];
    for (int first = rows.begin; first < rows.end; first += kRowBlock) {
      const int count = std::min(kRowBlock, rows.end - first);
      for (int i = 0; i < count; ++i) {
        const double* m = a.moment_of(first + i);
        std::fill_n(weights[i], wide, 0.0);
        for (int r = 0, p = 0; r < q.rank; ++r)
          for (int s = 0; s <= r; ++s, ++p)
            weights[i][p] = (r == s ? 1.0 : 2.0) * m[p] * c_moment[p];
      }
      kernels_.multiply(&weights[0][0], padded(packed_size(kMaxRank)), count, wide,
                        k_moments_.data(), moment_stride_, layout_.columns,
                        out + std::ptrdiff_t(first) * layout_.stride, layout_.stride);
    }
  });
}

}  // namespace outlierd::model
