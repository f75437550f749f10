#include "core/model/mean_field.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "core/model/row_sums.h"

namespace outlierd::model {
namespace {

constexpr double kWorthAThread = 2e5;  // multiply-adds that outweigh waking a thread
constexpr int kPartsPerThread = 4;     // so that a thread held up elsewhere holds up little
constexpr double kRounding = 1e-14;    // of a difference of sums, relative to the sums

}  // namespace

MeanField::MeanField(const SliceShape& shape, int window, int max_rank, ThreadTeam& team)
    : shape_(shape),
      layout_(shape),
      mode_steps_(shape.size(), 1),
      stride_(padded(max_rank)),
      moment_stride_(padded(packed_size(max_rank))),
      team_(team),
      most_parts_(team.threads() == 1 ? 1 : kPartsPerThread * team.threads()),
      kernels_(kernels()) {
  for (int mode = int(shape.size()) - 2; mode >= 1; --mode)
    mode_steps_[mode] = mode_steps_[mode + 1] * shape[mode + 1];
  const auto rows = std::size_t(layout_.rows), columns = std::size_t(layout_.columns);
  const std::size_t longest = *std::max_element(shape.begin(), shape.end());
  k_.resize(std::size_t(max_rank) * layout_.stride);
  k_by_column_.resize(columns * stride_);
  k_moments_.resize(columns * moment_stride_);
  k_word_sums_.resize(std::size_t(layout_.row_words) * moment_stride_);
  a_word_sums_.resize(std::size_t(layout_.column_words) * moment_stride_);
  gram_.assign(shape.size(), AlignedDoubles(std::size_t(moment_stride_)));
  k_gram_.resize(moment_stride_);
  z_.resize(k_.size());
  h_.resize(columns * moment_stride_);
  const std::size_t scratch = std::size_t(window) * kRowBlock * moment_stride_;
  h_scratch_.resize(scratch * most_parts_);
  x_.resize(rows * stride_);
  const int groups = fold_groups(max_rank, window);
  z_of_groups_.assign(std::size_t(groups) - 1, AlignedDoubles(z_.size()));
  weighted_rows_.resize(std::size_t(groups) * rows * stride_);
  row_scratch_.resize(std::size_t(most_parts_) * kRowBlock * layout_.stride);
  precision_.resize(longest * moment_stride_);
  rhs_.resize(longest * stride_);
  grams_.resize(std::size_t(window) * moment_stride_);
  loads_.resize(std::size_t(window) * stride_);
  time_precision_.resize(grams_.size());
  time_load_.resize(loads_.size());
  weighted_time_.resize(moment_stride_);
  weighted_means_.resize(std::size_t(window) * stride_);
  bits_.resize(window);
  projected_.resize(window);
  sums_.resize(window);
  part_sums_.resize(std::size_t(window) * most_parts_);
}

int MeanField::parts(int n, int step, double work_per_item) const {
  const int by_work = int(std::min(1e6, n * work_per_item / kWorthAThread));
  return std::clamp(std::min(by_work, (n + step - 1) / step), 1, most_parts_);
}

MeanField::Range MeanField::range_of(int part, int parts, int n, int step) {
  const int steps = (n + step - 1) / step;
  const auto bound = [&](int p) {
    return std::min(n, int(std::int64_t(steps) * p / parts) * step);
  };
  return {bound(part), bound(part + 1)};
}

void MeanField::refresh_rows(const Posterior& q) {
  const FactorRows& a = q.modes[0];
  const int packed = padded(packed_size(q.rank));
  sum_words(a.rows, packed, a.moment.data(), moment_stride_, a_word_sums_);
  kernels_.sum_rows(layout_.column_words, packed, a_word_sums_.data(), moment_stride_,
                    gram_[0].data());
}

void MeanField::refresh_columns(const Posterior& q) {
  const int packed = padded(packed_size(q.rank));
  const int modes = int(q.modes.size());
  for (int j = 0; j < layout_.columns; ++j) {
    double* moment = k_moments_.data() + std::ptrdiff_t(j) * moment_stride_;
    double* mean = k_by_column_.data() + std::ptrdiff_t(j) * stride_;
    if (modes == 1) {
      std::fill_n(moment, packed, 1.0);
      std::fill_n(mean, q.rank, 1.0);
    } else {
      std::copy_n(q.modes[1].moment_of(coordinate(j, 1)), packed, moment);
      std::copy_n(q.modes[1].mean_of(coordinate(j, 1)), stride_, mean);
    }
    for (int mode = 2; mode < modes; ++mode) {
      const int i = coordinate(j, mode);
      const double* m = q.modes[mode].moment_of(i);
      const double* a = q.modes[mode].mean_of(i);
      for (int p = 0; p < packed; ++p) moment[p] *= m[p];
      for (int r = 0; r < q.rank; ++r) mean[r] *= a[r];
    }
    for (int r = 0; r < q.rank; ++r) k_[std::ptrdiff_t(r) * layout_.stride + j] = mean[r];
  }
  sum_words(layout_.columns, packed, k_moments_.data(), moment_stride_, k_word_sums_);
  kernels_.sum_rows(layout_.row_words, packed, k_word_sums_.data(), moment_stride_, k_gram_.data());
  for (int mode = 1; mode < modes; ++mode)
    kernels_.sum_rows(q.modes[mode].rows, packed, q.modes[mode].moment.data(), moment_stride_,
                      gram_[mode].data());
}

void MeanField::project_value_rows(const Posterior& q, WindowSlice& slice, Range rows) const {
  const std::ptrdiff_t first = rows.begin;
  kernels_.multiply_thin(slice.values.data() + first * layout_.stride, layout_.stride,
                         rows.end - rows.begin, layout_.columns, k_by_column_.data(), stride_,
                         q.rank, slice.projected.data() + first * stride_, stride_);
}

void MeanField::project_values(const Posterior& q, WindowSlice& slice) {
  const int row_parts = parts(layout_.rows, kRowBlock, double(layout_.stride) * q.rank);
  team_.run(row_parts, [&](int part) {
    project_value_rows(q, slice, range_of(part, row_parts, layout_.rows, kRowBlock));
  });
}

void MeanField::project(const Posterior& q, WindowSlice& slice) {
  project_values(q, slice);
  if (slice.full) return;
  const int packed = padded(packed_size(q.rank));
  const std::uint64_t* bits = slice.row_bits.data();
  const int row_parts = parts(layout_.rows, kRowBlock, double(layout_.columns) * packed * 0.5);
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, layout_.rows, kRowBlock);
    double* sums = slice.moment_sums.data() + std::ptrdiff_t(rows.begin) * moment_stride_;
    kernels_.masked_sums(&bits, layout_.row_words, 1, rows.begin, rows.end, layout_.columns,
                         k_moments_.data(), moment_stride_, k_word_sums_.data(), moment_stride_,
                         packed, &sums, moment_stride_);
  });
}

void MeanField::project(const Posterior& q, const WindowView& view) {
  const double pass = double(layout_.rows) * layout_.stride;
  const int value_parts = parts(view.size(), 1, pass * q.rank) > 1 ? view.size() : 1;
  team_.run(value_parts, [&](int part) {
    const Range slices = range_of(part, value_parts, view.size(), 1);
    for (int t = slices.begin; t < slices.end; ++t)
      project_value_rows(q, *view.slices[t], {0, layout_.rows});
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
    double** sums = part_sums_.data() + std::ptrdiff_t(part) * view.size();
    for (int t = 0; t < view.size(); ++t)
      sums[t] = sums_[t] ? sums_[t] + std::ptrdiff_t(rows.begin) * moment_stride_ : nullptr;
    kernels_.masked_sums(bits_.data(), layout_.row_words, view.size(), rows.begin, rows.end,
                         layout_.columns, k_moments_.data(), moment_stride_, k_word_sums_.data(),
                         moment_stride_, packed, sums, moment_stride_);
  });
}

void MeanField::summarize(const Posterior& q, const WindowSlice& slice, double* gram,
                          double* load) const {
  const FactorRows& a = q.modes[0];
  const int packed = padded(packed_size(q.rank));
  kernels_.sum_products(a.rows, padded(q.rank), a.mean.data(), stride_, slice.projected.data(),
                        stride_, load);
  if (slice.full) {
    for (int p = 0; p < packed; ++p) gram[p] = gram_[0][p] * k_gram_[p];
  } else {
    kernels_.sum_products(a.rows, packed, a.moment.data(), moment_stride_, slice.moment_sums.data(),
                          moment_stride_, gram);
  }
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
  double minus_c[kMaxRank] = {};
  for (int r = 0; r < q.rank; ++r) minus_c[r] = -c[r];
  kernels_.weigh_rows(a.rows, padded(q.rank), minus_c, a.mean.data(), stride_, x_.data(), stride_);
  const int row_parts = parts(layout_.rows, kRowBlock, double(layout_.stride) * (q.rank + 4));
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, layout_.rows, kRowBlock);
    kernels_.subtract_low_rank(nullptr, 0, rows.end - rows.begin, layout_.stride,
                               x_.data() + std::ptrdiff_t(rows.begin) * stride_, stride_, k_.data(),
                               layout_.stride, q.rank,
                               out + std::ptrdiff_t(rows.begin) * layout_.stride, layout_.stride);
  });
}

void MeanField::residual_rows(const Posterior& q, const WindowSlice& slice, const double* c,
                              int begin, int end, double* out) const {
  double x[kRowBlock * kMaxRank] = {};
  for (int i = begin; i < end; ++i)
    for (int r = 0; r < q.rank; ++r)
      x[(i - begin) * kMaxRank + r] = c[r] * q.modes[0].mean_of(i)[r];
  kernels_.subtract_low_rank(slice.values.data() + std::ptrdiff_t(begin) * layout_.stride,
                             layout_.stride, end - begin, layout_.stride, x, kMaxRank, k_.data(),
                             layout_.stride, q.rank, out, layout_.stride);
  if (slice.full) return;
  for (int row = begin; row < end; ++row)
    for (int word = 0; word < layout_.row_words; ++word) {
      std::uint64_t missing = ~slice.row_bits[std::ptrdiff_t(row) * layout_.row_words + word];
      const int left = layout_.columns - word * kBitsInWord;
      if (left < kBitsInWord) missing &= (std::uint64_t{1} << left) - 1;
      double* cells = out + std::ptrdiff_t(row - begin) * layout_.stride + word * kBitsInWord;
      for (; missing; missing &= missing - 1) cells[std::countr_zero(missing)] = 0.0;
    }
}

void MeanField::residual(const Posterior& q, const WindowSlice& slice, const double* c,
                         double* out) {
  const int row_parts = parts(layout_.rows, kRowBlock, double(layout_.stride) * (q.rank + 4));
  team_.run(row_parts, [&](int part) {
    const Range rows = range_of(part, row_parts, layout_.rows, kRowBlock);
    for (int first = rows.begin; first < rows.end; first += kRowBlock)
      residual_rows(q, slice, c, first, std::min(first + kRowBlock, rows.end),
                    out + std::ptrdiff_t(first) * layout_.stride);
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
