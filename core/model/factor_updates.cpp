// M3: the factor updates of MeanField.

#include <algorithm>
#include <atomic>

#include "core/model/mean_field.h"
#include "core/model/row_sums.h"

namespace outlierd::model {
namespace {

constexpr double kWorthGroups = 4e5, kWorthMoreGroups = 2e7;  // multiply-adds of a fold
constexpr int kFewGroups = 4;

}  // namespace

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

  double v[kMaxRank * kMaxRank] = {};
  for (int r = 0; r < q.rank; ++r)
    for (int s = 0; s < q.rank; ++s) v[r * kMaxRank + s] = shared[packed_index(r, s)];
  const int row_parts = parts(factor.rows, kRowBlock, 2.0 * q.rank * q.rank);
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, factor.rows, kRowBlock);
    const int count = rows.end - rows.begin;
    kernels_.multiply_thin(rhs_.data() + std::ptrdiff_t(rows.begin) * stride_, stride_, count,
                           q.rank, v, kMaxRank, q.rank, factor.mean_of(rows.begin), stride_);
    kernels_.second_moments(count, q.rank, shared, factor.mean_of(rows.begin), stride_,
                            factor.moment_of(rows.begin), moment_stride_);
  });
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

  for (int t = 0; t < view.size(); ++t) {
    const double weight = q.tau * view.weights[t];
    for (int r = 0; r < padded(rank); ++r)
      weighted_means_[std::size_t(t) * stride_ + r] = weight * q.time.mean_of(t)[r];
    projected_[t] = view.slices[t]->projected.data();
  }
  const int row_parts = parts(a.rows, kRowBlock, double(view.size()) * (shared ? rank : packed));
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, a.rows, kRowBlock);
    kernels_.sum_weighted_rows(view.size(), rows.begin, rows.end, padded(rank),
                               weighted_means_.data(), stride_, projected_.data(), stride_,
                               rhs_.data(), stride_);
    if (shared) return;
    for (int i = rows.begin; i < rows.end; ++i) {
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
//
// In groups of slices, whoever works on them: whole slices stream best, and the weighted rows of a
// slice are made where they are used, not fetched out of another core's cache.
void MeanField::fold(const Posterior& q, const WindowView& view) {
  const FactorRows& a = q.modes[0];
  const int rank = q.rank, groups = fold_groups(rank, view.size());
  const std::ptrdiff_t size = std::ptrdiff_t(rank) * layout_.stride;
  const auto sums_of = [&](int group) -> AlignedDoubles& {
    return group == 0 ? z_ : z_of_groups_[std::size_t(group) - 1];
  };
  team_.run(groups, [&](int group) {
    const Range slices = range_of(group, groups, view.size(), 1);
    double* z = sums_of(group).data();
    double* rows = weighted_rows_.data() + std::ptrdiff_t(group) * a.rows * stride_;
    std::fill_n(z, size, 0.0);
    for (int t = slices.begin; t < slices.end; ++t) {
      double weighted_c[kMaxRank] = {};
      for (int r = 0; r < rank; ++r) weighted_c[r] = view.weights[t] * q.time.mean_of(t)[r];
      kernels_.weigh_rows(a.rows, padded(rank), weighted_c, a.mean.data(), stride_, rows, stride_);
      kernels_.multiply_transposed(view.slices[t]->values.data(), layout_.stride, a.rows,
                                   layout_.stride, rows, stride_, rank, z, layout_.stride);
    }
  });
  for (int group = 1; group < groups; ++group) {
    const double* more = sums_of(group).data();
    for (std::ptrdiff_t i = 0; i < size; ++i) z_[std::size_t(i)] += more[i];
  }
}

// By the size of the work alone, so that the sums do not depend on the number of threads.
int MeanField::fold_groups(int rank, int slices) const {
  const double work = double(slices) * layout_.rows * layout_.stride * rank;
  const int groups = work < kWorthGroups ? 1 : work < kWorthMoreGroups ? kFewGroups : kMostGroups;
  return std::min(groups, slices);
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
    double** sums = part_sums_.data() + std::ptrdiff_t(part) * view.size();
    double* scratch =
        h_scratch_.data() + std::ptrdiff_t(part) * std::ptrdiff_t(h_scratch_.size()) / most_parts_;
    for (int t = 0; t < view.size(); ++t)
      sums[t] =
          view.slices[t]->full ? nullptr : scratch + std::ptrdiff_t(t) * kRowBlock * moment_stride_;
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
      kernels_.sum_rows(q.modes[mode].rows, padded(packed), q.modes[mode].moment.data(),
                        moment_stride_, gram_[mode].data());
    } else if (!solve_each(q, q.modes[mode])) {
      return false;
    }
  }
  refresh_columns(q);
  return true;
}

}  // namespace outlierd::model
