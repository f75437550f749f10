// M9 as a judge of the factorizer's own updates: on real windows, with outliers and holes, the
// bound never falls. Under M10 it is comparable while the outliers are frozen; with M6-M7 and b0 >
// 0 always.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/model/evidence.h"
#include "core/model/window_fit.h"
#include "tests/support/random.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

using test::Random;

// Rounding error of a bound of some thousand terms, each computed to 1e-15 of its size; the terms
// cancel at most a thousandfold.
double slack(double bound) { return 1e-10 * (1.0 + std::abs(bound)); }

// One window of a synthetic stream and all that fits it.
struct Rig {
  FactorizerOptions options;
  ThreadTeam team{1};
  Window window;
  Posterior q;
  MeanField field;
  WindowFit fit;
  WindowView view;

  Rig(const test::SyntheticStream& stream, const SliceShape& shape)
      : window(shape, options.window, options.max_rank),
        q(shape, options.window, options.max_rank),
        field(shape, options.window, options.max_rank, team),
        fit(shape, options, field) {
    for (const Slice& slice : stream.slices) {
      window.load(slice, 1.0, window.staged());
      window.commit();
    }
    for (int t = 0; t < window.size(); ++t) {
      view.slices.push_back(&window[t]);
      view.weights.push_back(std::pow(options.forgetting, window.size() - 1 - t));
    }
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // Somewhere else, so that there is far to climb: other means, wide covariances.
  void scramble(int rank, Random& random) {
    q.rank = rank;
    const auto scramble_rows = [&](FactorRows& factor) {
      for (int i = 0; i < factor.rows; ++i) {
        for (int r = 0; r < rank; ++r) factor.mean_of(i)[r] = random.normal();
        for (int r = 0; r < rank; ++r)
          for (int s = 0; s <= r; ++s)
            factor.moment_of(i)[packed_index(r, s)] =
                factor.mean_of(i)[r] * factor.mean_of(i)[s] + (r == s ? 0.1 : 0.0);
      }
    };
    for (FactorRows& mode : q.modes) scramble_rows(mode);
    scramble_rows(q.time);
    for (int r = 0; r < rank; ++r) q.lambda[r] = 0.1 + random.uniform();
    q.tau = 0.5;
    fit.refresh(q, view);
  }
};

struct Setting {
  std::string name;
  SliceShape shape;
  double missing;
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

test::SyntheticStream stream_of(const Setting& setting, std::uint64_t seed) {
  return test::synthetic_stream({.shape = setting.shape,
                                 .slices = 20,
                                 .rank = 3,
                                 .noise_db = -15.0,
                                 .outlier_share = 0.05,
                                 .missing_share = setting.missing,
                                 .seed = seed});
}

class SweepBound : public testing::TestWithParam<Setting> {};

TEST_P(SweepBound, NeverFallsOverSweepsWithFrozenOutliers) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Rig rig(stream_of(GetParam(), seed), GetParam().shape);
    std::vector<Outlier> outliers;
    ASSERT_TRUE(rig.fit.cold_start(rig.q, rig.view, outliers));
    ASSERT_FALSE(outliers.empty());  // or nothing is frozen
    double variance = 0.0;
    for (const Outlier& outlier : outliers) variance += outlier.sparse.variance;
    // The bound knows D = Y - S; the spread of S adds to the error of M8.
    const auto bound_now = [&] {
      return evidence_bound(rig.q, rig.view, rig.field, {}) - 0.5 * rig.q.tau * variance;
    };

    Random random(seed);
    rig.scramble(4, random);
    const double start = bound_now();
    double bound = start;
    for (int sweep = 0; sweep < 30; ++sweep) {
      ASSERT_TRUE(rig.fit.sweep(rig.q, rig.view, variance));
      const double now = bound_now();
      ASSERT_TRUE(std::isfinite(now));
      ASSERT_GE(now, bound - slack(bound)) << "sweep " << sweep << ", seed " << seed;
      bound = now;
    }
    EXPECT_GT(bound, start + 1.0) << "nothing was climbed";
  }
}

TEST_P(SweepBound, NeverFallsUnderAnyUpdateWithAProperSparsePrior) {
  constexpr double kA0 = 1.5, kB0 = 0.5;
  for (std::uint64_t seed = 11; seed <= 18; ++seed) {
    Rig rig(stream_of(GetParam(), seed), GetParam().shape);
    Random random(seed);
    rig.scramble(4, random);
    const Layout& layout = rig.window.layout();
    WindowSlice& newest = rig.view.newest();
    const int last = rig.view.size() - 1;
    const AlignedDoubles y = newest.values;
    AlignedDoubles residual(y.size());
    std::vector<SparseCell> cells(y.size());
    std::vector<double> gamma(y.size(), 0.0);
    for (int i = 0; i < layout.rows; ++i)
      for (int j = 0; j < layout.columns; ++j)
        if (const auto at = std::int64_t(i) * layout.stride + j; layout.is_observed(newest, at)) {
          cells[at] = {0.0, 1.0};
          gamma[at] = 1.0;
        }

    const auto bound_now = [&] {
      return evidence_bound(rig.q, rig.view, rig.field, {cells, gamma, kA0, kB0});
    };
    double bound = bound_now();
    const auto expect_no_fall = [&](const char* update, int sweep) {
      const double now = bound_now();
      ASSERT_TRUE(std::isfinite(now));
      ASSERT_GE(now, bound - slack(bound)) << update << ", sweep " << sweep << ", seed " << seed;
      bound = now;
    };
    for (int sweep = 0; sweep < 30; ++sweep) {
      ASSERT_TRUE(rig.field.update_row_mode(rig.q, rig.view));
      expect_no_fall("row mode", sweep);
      ASSERT_TRUE(rig.field.update_column_modes(rig.q, rig.view));
      rig.field.project(rig.q, rig.view);
      expect_no_fall("column modes", sweep);
      ASSERT_TRUE(rig.field.update_time(rig.q, rig.view));
      expect_no_fall("time", sweep);
      rig.field.update_component_precision(rig.q, rig.view.size(),
                                           rig.field.component_count(rig.view.size()));
      expect_no_fall("lambda", sweep);
      double variance = 0.0;
      for (const SparseCell& cell : cells) variance += cell.variance;
      rig.fit.update_noise_precision(rig.q, rig.view, variance);
      expect_no_fall("tau", sweep);

      // Of D = Y - S; that of Y has S on top.
      rig.field.residual(rig.q, newest, rig.q.time.mean_of(last), residual.data());
      for (std::size_t at = 0; at < cells.size(); ++at) {
        if (gamma[at] == 0.0) continue;
        cells[at] =
            sparse_part_given_precision(residual[at] + cells[at].value, rig.q.tau, gamma[at]);
        newest.values[at] = y[at] - cells[at].value;
      }
      newest.squares = sum_of_squares(newest.values);
      rig.field.project_values(rig.q, newest);
      expect_no_fall("sparse part", sweep);
      for (std::size_t at = 0; at < cells.size(); ++at)
        if (gamma[at] != 0.0) gamma[at] = sparse_precision(cells[at], kA0, kB0);
      expect_no_fall("gamma", sweep);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SweepBound,
                         testing::Values(Setting{"TwoWay", {12, 13}, 0.0},
                                         Setting{"TwoWayFewMissing", {12, 13}, 0.05},
                                         Setting{"TwoWayHalfMissing", {12, 13}, 0.5},
                                         Setting{"ThreeWay", {8, 7, 3}, 0.0},
                                         Setting{"ThreeWayMissing", {8, 7, 3}, 0.3},
                                         Setting{"FourWayMissing", {6, 4, 3, 2}, 0.2}),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace outlierd::model
