#pragma once
// The naive model's window and posterior in the types of core/model, so that both can be asked the
// same question from the same belief.

#include <cstddef>
#include <vector>

#include "core/model/mean_field.h"
#include "core/model/thread_team.h"
#include "tests/support/naive_model.h"

namespace outlierd::test {

inline void pack(const Eigen::MatrixXd& means, const std::vector<Eigen::MatrixXd>& covariances,
                 model::FactorRows& out) {
  for (int i = 0; i < int(means.rows()); ++i)
    for (int r = 0; r < int(means.cols()); ++r) {
      out.mean_of(i)[r] = means(i, r);
      for (int s = 0; s <= r; ++s)
        out.moment_of(i)[model::packed_index(r, s)] =
            covariances[i](r, s) + means(i, r) * means(i, s);
    }
}

inline model::Posterior posterior_of(const NaiveModel& naive, int window, int max_rank) {
  model::Posterior q(naive.sizes, window, max_rank);
  q.rank = naive.rank();
  for (std::size_t n = 0; n < naive.sizes.size(); ++n)
    pack(naive.means[n], naive.covariances[n], q.modes[n]);
  pack(naive.time_means, naive.time_covariances, q.time);
  for (int r = 0; r < q.rank; ++r) q.lambda[r] = naive.lambda(r);
  q.tau = naive.tau;
  return q;
}

// The naive model's window and posterior as MeanField takes them. Room for more slices and more
// components than are in use, as in a window that is filling.
struct ModelBench {
  static constexpr int kSpare = 2;

  model::ThreadTeam team;
  int window_size, max_rank;
  model::Window window;
  model::Posterior q;
  model::MeanField field;
  model::WindowView view;

  explicit ModelBench(const NaiveModel& naive, int threads = 1)
      : team(threads),
        window_size(naive.slices() + kSpare),
        max_rank(naive.rank() + kSpare),
        window(naive.sizes, window_size, max_rank),
        q(posterior_of(naive, window_size, max_rank)),
        field(naive.sizes, window_size, max_rank, team) {
    for (int t = 0; t < naive.slices(); ++t) {
      Slice slice(naive.sizes);
      for (int cell = 0; cell < naive.cells(); ++cell)
        if (naive.window[t].mask[cell]) slice.set(cell, naive.target(t, cell));
      window.load(slice, 1.0, window.staged());
      window.commit();
    }
    for (int t = 0; t < naive.slices(); ++t) {
      view.slices.push_back(&window[t]);
      view.weights.push_back(naive.window[t].weight);
    }
    refresh();
  }
  ModelBench(const ModelBench&) = delete;
  ModelBench& operator=(const ModelBench&) = delete;

  void refresh() {
    field.refresh_rows(q);
    field.refresh_columns(q);
    field.project(q, view);
  }
  // Where a cell lies in an array of the layout.
  std::size_t place(int cell) const {
    const model::Layout& layout = window.layout();
    return std::size_t(cell / layout.columns) * layout.stride + cell % layout.columns;
  }
};

}  // namespace outlierd::test
