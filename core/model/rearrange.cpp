// A factorizer's state for other rows than it was learned with.

#include <algorithm>

#include "core/model/factorizer_state.h"

namespace outlierd::model {
namespace {

// Where each column of the new layout was: the modes after the first, the last running fastest.
std::vector<int> columns_from(const SliceShape& shape, const SliceShape& old,
                              const std::vector<std::vector<int>>& from) {
  std::vector<int> columns = {0};
  for (std::size_t mode = 1; mode < shape.size(); ++mode) {
    std::vector<int> next;
    for (int before : columns)
      for (int row : from[mode])
        next.push_back(before < 0 || row < 0 ? -1 : before * old[mode] + row);
    columns.swap(next);
  }
  return columns;
}

}  // namespace

void StreamingFactorizer::State::rearrange(const State& saved,
                                           const std::vector<std::vector<int>>& from) {
  warm = saved.warm;
  exponent = saved.exponent;
  learned = saved.learned;
  q.rank = saved.q.rank;
  q.tau = saved.q.tau;
  q.lambda = saved.q.lambda;
  q.time = saved.q.time;
  for (std::size_t mode = 0; mode < q.modes.size(); ++mode)
    for (int row = 0; row < q.modes[mode].rows; ++row) {
      const int old = from[mode][std::size_t(row)];
      if (old >= 0) {
        std::copy_n(saved.q.modes[mode].mean_of(old), q.modes[mode].stride,
                    q.modes[mode].mean_of(row));
        std::copy_n(saved.q.modes[mode].moment_of(old), q.modes[mode].moment_stride,
                    q.modes[mode].moment_of(row));
        continue;
      }
      for (int r = 0; r < q.rank; ++r)  // the prior: mean 0, variance 1 / lambda
        q.modes[mode].moment_of(row)[packed_index(r, r)] = 1.0 / q.lambda[std::size_t(r)];
    }

  const Layout& layout = window.layout();
  const Layout& before = saved.window.layout();
  const std::vector<int> columns = columns_from(shape, saved.shape, from);
  const auto old_cell = [&](int row, int column) -> std::int64_t {
    const int old_row = from[0][std::size_t(row)], old_column = columns[std::size_t(column)];
    if (old_row < 0 || old_column < 0) return -1;
    return std::int64_t(old_row) * before.stride + old_column;
  };
  Slice slice(shape);
  for (int k = 0; k < saved.window.size(); ++k) {
    for (int row = 0; row < layout.rows; ++row)
      for (int column = 0; column < layout.columns; ++column) {
        const std::int64_t old = old_cell(row, column);
        const std::size_t cell = std::size_t(row) * std::size_t(layout.columns) + column;
        slice.observed[cell] = old >= 0 && before.is_observed(saved.window[k], old);
        slice.values[cell] = slice.observed[cell] ? saved.window[k].values[old] : 0.0;
      }
    window.load(slice, 1.0, window.staged());
    window.commit();
  }
  for (int row = 0; row < layout.rows; ++row)
    for (int column = 0; column < layout.columns; ++column)
      if (const std::int64_t old = old_cell(row, column); old >= 0)
        flagged_runs[std::size_t(row) * layout.stride + column] = saved.flagged_runs[old];
  newest_outliers.clear();
}

}  // namespace outlierd::model
