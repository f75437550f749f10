#include "core/model/components.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace outlierd::model {
namespace {

constexpr int kGroups = 8;              // of rows, summed apart, whatever the threads
constexpr int kPowerIterations = 12;    // of a matrix's leading direction
constexpr double kSeedVariance = 1e-4;  // of a new component's rows, at unit scale

double norm_of(const double* x, std::ptrdiff_t n) {
  double squares = 0.0;
  for (std::ptrdiff_t i = 0; i < n; ++i) squares += x[i] * x[i];
  return std::sqrt(squares);
}

// x / |x|, and |x|. A zero vector stays zero.
double normalize(double* x, std::ptrdiff_t n) {
  const double norm = norm_of(x, n);
  if (norm > 0.0)
    for (std::ptrdiff_t i = 0; i < n; ++i) x[i] /= norm;
  return norm;
}

struct Pair {
  double cosine = 0.0;
  double norm_r = 0.0, norm_s = 0.0;
};

Pair compare(const FactorRows& factor, int rows, int r, int s) {
  double rr = 0.0, ss = 0.0, rs = 0.0;
  for (int i = 0; i < rows; ++i) {
    const double* a = factor.mean_of(i);
    rr += a[r] * a[r];
    ss += a[s] * a[s];
    rs += a[r] * a[s];
  }
  const double norms = std::sqrt(rr) * std::sqrt(ss);
  return {norms > 0.0 ? rs / norms : 0.0, std::sqrt(rr), std::sqrt(ss)};
}

// mean[r] += factor * mean[s] in every row; V stays.
void add_column(FactorRows& factor, int rank, int r, int s, double scale) {
  for (int i = 0; i < factor.rows; ++i) {
    double* mean = factor.mean_of(i);
    double* moment = factor.moment_of(i);
    const double old_value = mean[r];
    const double new_value = old_value + scale * mean[s];
    for (int q = 0; q < rank; ++q)
      if (q != r) moment[packed_index(r, q)] += (new_value - old_value) * mean[q];
    moment[packed_index(r, r)] += new_value * new_value - old_value * old_value;
    mean[r] = new_value;
  }
}

bool merge_pair(Posterior& q, int slices, int r, int s, double cosine) {
  const int factors = int(q.modes.size()) + 1;
  int apart = 0;  // the factor that is least parallel
  double least = 2.0, scale = 1.0;
  for (int f = 0; f < factors; ++f) {
    const bool is_time = f == factors - 1;
    const Pair pair =
        compare(is_time ? q.time : q.modes[f], is_time ? slices : q.modes[f].rows, r, s);
    if (pair.norm_r == 0.0 || pair.norm_s == 0.0) return false;
    if (std::abs(pair.cosine) < least) {
      least = std::abs(pair.cosine);
      apart = f;
    }
  }
  for (int f = 0; f < factors; ++f) {
    if (f == apart) continue;
    const bool is_time = f == factors - 1;
    const Pair pair =
        compare(is_time ? q.time : q.modes[f], is_time ? slices : q.modes[f].rows, r, s);
    if (std::abs(pair.cosine) < cosine) return false;
    scale *= pair.norm_s / pair.norm_r * (pair.cosine < 0.0 ? -1.0 : 1.0);
  }
  add_column(apart == factors - 1 ? q.time : q.modes[apart], q.rank, r, s, scale);
  q.drop_component(s);
  return true;
}

}  // namespace

int drop_weak_components(Posterior& q, int slices, double share) {
  double strongest = 0.0;
  for (int r = 0; r < q.rank; ++r) strongest = std::max(strongest, q.strength(r, slices));
  int dropped = 0;
  for (int r = q.rank - 1; r >= 0; --r)
    if (!(q.strength(r, slices) > share * strongest)) {
      q.drop_component(r);
      ++dropped;
    }
  return dropped;
}

int merge_parallel_components(Posterior& q, int slices, double cosine) {
  int merged = 0;
  for (int r = 0; r < q.rank; ++r)
    for (int s = q.rank - 1; s > r; --s)
      if (merge_pair(q, slices, r, s, cosine)) ++merged;
  return merged;
}

ResidualSeeder::ResidualSeeder(const SliceShape& shape, int window)
    : shape_(shape),
      layout_(shape),
      mode_steps_(shape.size(), 1),
      window_(window),
      kernels_(kernels()),
      row_residuals_(std::size_t(kGroups) * window * layout_.stride),
      row_gram_(std::size_t(kGroups) * window * window),
      group_grams_(row_gram_.size()),
      sum_(layout_.padded_cells()),
      right_(std::size_t(layout_.stride)),
      left_(std::size_t(layout_.rows)),
      folded_(std::size_t(layout_.stride)),
      gram_(std::size_t(window) * window),
      eigen_(std::size_t(window)),
      time_(std::size_t(window)) {
  for (int mode = int(shape.size()) - 2; mode >= 1; --mode)
    mode_steps_[mode] = mode_steps_[mode + 1] * shape[mode + 1];
  for (int size : shape) direction_.emplace_back(std::size_t(size), 0.0);
}

// The Gram matrix of the residual slices, weighted: gram_[t, s] = sqrt(w_t w_s) <residual_t,
// residual_s>, row of cells by row of cells.
void ResidualSeeder::sum_gram(const Posterior& q, const WindowView& view, MeanField& mean_field) {
  const int slices = view.size();
  const std::ptrdiff_t squares = std::ptrdiff_t(window_) * window_;
  mean_field.team().run(kGroups, [&](int group) {
    double* residuals = row_residuals_.data() + std::ptrdiff_t(group) * window_ * layout_.stride;
    double* row_gram = row_gram_.data() + group * squares;
    double* total = group_grams_.data() + group * squares;
    std::fill_n(total, squares, 0.0);
    const auto bound = [&](int g) { return int(std::int64_t(layout_.rows) * g / kGroups); };
    for (int row = bound(group); row < bound(group + 1); ++row) {
      for (int t = 0; t < slices; ++t)
        mean_field.residual_rows(q, *view.slices[t], q.time.mean_of(t), row, row + 1,
                                 residuals + std::ptrdiff_t(t) * layout_.stride);
      kernels_.multiply(residuals, layout_.stride, slices, layout_.stride, residuals,
                        layout_.stride, slices, row_gram, window_);
      for (int t = 0; t < slices; ++t)
        for (int s = 0; s < slices; ++s) total[t * window_ + s] += row_gram[t * window_ + s];
    }
  });
  for (int t = 0; t < slices; ++t)
    for (int s = 0; s < slices; ++s) {
      double sum = 0.0;
      for (int group = 0; group < kGroups; ++group)
        sum += group_grams_[group * squares + std::ptrdiff_t(t) * window_ + s];
      gram_[std::size_t(t) * window_ + s] = std::sqrt(view.weights[t] * view.weights[s]) * sum;
    }
}

// The leading eigenvector of that matrix.
void ResidualSeeder::start_time(const Posterior& q, const WindowView& view, MeanField& mean_field) {
  const int slices = view.size();
  sum_gram(q, view, mean_field);
  // Start from the row of the largest slice; it cannot be orthogonal to the leading direction
  // without being the direction of another, as large.
  int largest = 0;
  for (int t = 1; t < slices; ++t)
    if (gram_[std::size_t(t) * window_ + t] > gram_[std::size_t(largest) * window_ + largest])
      largest = t;
  for (int t = 0; t < slices; ++t) time_[t] = gram_[std::size_t(largest) * window_ + t];
  normalize(time_.data(), slices);
  for (int round = 0; round < 4 * kPowerIterations; ++round) {
    for (int t = 0; t < slices; ++t)
      eigen_[t] = std::inner_product(time_.begin(), time_.begin() + slices,
                                     gram_.begin() + std::ptrdiff_t(t) * window_, 0.0);
    std::copy_n(eigen_.begin(), slices, time_.begin());
    normalize(time_.data(), slices);
  }
}

void ResidualSeeder::sum_residuals(const Posterior& q, const WindowView& view,
                                   MeanField& mean_field) {
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (int t = 0; t < view.size(); ++t) {
    const double factor = std::sqrt(view.weights[t]) * time_[t];
    mean_field.visit_residuals(
        q, *view.slices[t], q.time.mean_of(t), [&](int block, const double* residuals) {
          double* sum = sum_.data() + std::ptrdiff_t(block) * kRowBlock * layout_.stride;
          const std::ptrdiff_t cells = std::ptrdiff_t(block_rows(block)) * layout_.stride;
          for (std::ptrdiff_t cell = 0; cell < cells; ++cell) sum[cell] += factor * residuals[cell];
        });
  }
}

// The leading rank-1 part of sum_: left_ (the first mode) times right_ (the others, multiplied
// out).
void ResidualSeeder::factor_sum(int iterations) {
  int heaviest = 0;
  double most = -1.0;
  for (int i = 0; i < layout_.rows; ++i) {
    const double norm = norm_of(sum_.data() + std::ptrdiff_t(i) * layout_.stride, layout_.columns);
    if (norm > most) {
      most = norm;
      heaviest = i;
    }
  }
  std::copy_n(sum_.begin() + std::ptrdiff_t(heaviest) * layout_.stride, layout_.stride,
              right_.begin());
  normalize(right_.data(), layout_.stride);
  for (int round = 0; round < iterations; ++round) {
    kernels_.multiply(sum_.data(), layout_.stride, layout_.rows, layout_.stride, right_.data(),
                      layout_.stride, 1, left_.data(), 1);
    normalize(left_.data(), layout_.rows);
    std::fill(right_.begin(), right_.end(), 0.0);
    kernels_.multiply_transposed(sum_.data(), layout_.stride, layout_.rows, layout_.stride,
                                 left_.data(), 1, 1, right_.data(), layout_.stride);
    normalize(right_.data(), layout_.stride);
  }
  std::copy_n(left_.begin(), layout_.rows, direction_[0].begin());
  split_columns(iterations);
}

// right_ as a product of one vector a column mode, by alternating over the modes.
double ResidualSeeder::split_columns(int iterations) {
  const int modes = int(shape_.size());
  if (modes == 1) {
    right_[0] = right_[0] < 0.0 ? -1.0 : 1.0;
    return 1.0;
  }
  std::copy(right_.begin(), right_.end(), folded_.begin());
  const int largest =
      int(std::max_element(folded_.begin(), folded_.begin() + layout_.columns,
                           [](double a, double b) { return std::abs(a) < std::abs(b); }) -
          folded_.begin());
  // Start from the lines through the largest entry.
  for (int mode = 1; mode < modes; ++mode) {
    const int here = coordinate(largest, mode);
    for (int i = 0; i < shape_[mode]; ++i)
      direction_[mode][i] = folded_[largest + (i - here) * mode_steps_[mode]];
    normalize(direction_[mode].data(), shape_[mode]);
  }
  double norm = 0.0;
  for (int round = 0; round < (modes == 2 ? 1 : iterations); ++round)
    for (int mode = 1; mode < modes; ++mode) {
      std::fill(direction_[mode].begin(), direction_[mode].end(), 0.0);
      for (int j = 0; j < layout_.columns; ++j) {
        double value = folded_[j];
        for (int other = 1; other < modes; ++other)
          if (other != mode) value *= direction_[other][coordinate(j, other)];
        direction_[mode][coordinate(j, mode)] += value;
      }
      norm = normalize(direction_[mode].data(), shape_[mode]);
    }
  for (int j = 0; j < layout_.columns; ++j) {
    right_[j] = 1.0;
    for (int mode = 1; mode < modes; ++mode) right_[j] *= direction_[mode][coordinate(j, mode)];
  }
  return norm;
}

// time_[t] = <residual_t, left right'>, normalized; the strength.
void ResidualSeeder::project_time(const Posterior& q, const WindowView& view,
                                  MeanField& mean_field) {
  for (int t = 0; t < view.size(); ++t) {
    mean_field.visit_residuals(
        q, *view.slices[t], q.time.mean_of(t), [&](int block, const double* residuals) {
          kernels_.multiply(residuals, layout_.stride, block_rows(block), layout_.stride,
                            right_.data(), layout_.stride, 1,
                            left_.data() + std::ptrdiff_t(block) * kRowBlock, 1);
        });
    time_[t] =
        std::inner_product(left_.begin(), left_.begin() + layout_.rows, direction_[0].begin(), 0.0);
  }
  strength_ = normalize(time_.data(), view.size());
}

void ResidualSeeder::find(const Posterior& q, const WindowView& view, MeanField& mean_field,
                          int rounds) {
  double observed = 0.0;
  for (const WindowSlice* slice : view.slices) observed += double(slice->observed);
  observed_share_ =
      observed / (double(layout_.rows) * double(layout_.columns) * double(view.size()));
  start_time(q, view, mean_field);
  for (int round = 0; round < rounds; ++round) {
    sum_residuals(q, view, mean_field);
    factor_sum(kPowerIterations);
    project_time(q, view, mean_field);
  }
}

// The largest <noise, unit direction> of an I_1 x .. x I_N x W array of which a share p was
// observed is about sigma sqrt(p) (sqrt(I_1) + .. + sqrt(W)).
double ResidualSeeder::noise_strength(const WindowView& view, double tau) const {
  double roots = std::sqrt(double(view.size()));
  for (int size : shape_) roots += std::sqrt(double(size));
  return std::sqrt(observed_share_ / tau) * roots;
}

bool ResidualSeeder::add_to(Posterior& q, int slices) const {
  if (!q.add_component()) return false;
  const int r = q.rank - 1;
  // Of a component, the observed cells show only their share.
  const double scale = std::pow(strength_ / observed_share_, 1.0 / double(q.modes.size() + 1));
  const auto fill = [&](FactorRows& factor, int rows, const std::vector<double>& unit) {
    for (int i = 0; i < rows; ++i) {
      double* mean = factor.mean_of(i);
      mean[r] = scale * unit[i];
      for (int s = 0; s <= r; ++s) factor.moment_of(i)[packed_index(r, s)] = mean[r] * mean[s];
      factor.moment_of(i)[packed_index(r, r)] += kSeedVariance;
    }
  };
  for (std::size_t mode = 0; mode < q.modes.size(); ++mode)
    fill(q.modes[mode], q.modes[mode].rows, direction_[mode]);
  fill(q.time, slices, time_);
  q.lambda[r] = 1.0;
  return true;
}

}  // namespace outlierd::model
