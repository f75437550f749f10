// MeanField against the naive model: one update each, from the same random posterior and window.

#include "core/model/mean_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/model_bench.h"
#include "tests/support/naive_model.h"
#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::NaiveModel;
using Bench = test::ModelBench;
using test::Random;

// Relative to the largest entry of a row. The sums are of a few hundred terms and the precisions'
// condition numbers below 1e4, which leaves ten digits.
constexpr double kTolerance = 1e-10;

void expect_rows(const FactorRows& rows, const Eigen::MatrixXd& means,
                 const std::vector<Eigen::MatrixXd>& covariances, const std::string& what) {
  for (int i = 0; i < int(means.rows()); ++i) {
    const Eigen::VectorXd a = means.row(i).transpose();
    const Eigen::MatrixXd moment = covariances[i] + a * a.transpose();
    const double mean_size = means.cwiseAbs().maxCoeff(), size = moment.cwiseAbs().maxCoeff();
    for (int r = 0; r < int(a.size()); ++r) {
      ASSERT_NEAR(rows.mean_of(i)[r], a(r), kTolerance * mean_size) << what << ", row " << i;
      for (int s = 0; s <= r; ++s)
        ASSERT_NEAR(rows.moment_of(i)[packed_index(r, s)], moment(r, s), kTolerance * size)
            << what << ", row " << i << ", entry " << r << ", " << s;
    }
  }
}

struct Setting {
  std::string name;
  SliceShape shape;
  std::vector<double> missing;  // share of cells not observed, slice by slice
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class MeanFieldTest : public testing::TestWithParam<Setting> {
 protected:
  static constexpr int kRank = 3;

  Random random_{42};
  NaiveModel naive_ = test::random_model(GetParam().shape, kRank, 0.9, GetParam().missing, random_);
};

TEST_P(MeanFieldTest, RowModeIsM3) {
  Bench bench(naive_);
  ASSERT_TRUE(bench.field.update_row_mode(bench.q, bench.view));
  naive_.update_mode(0);
  expect_rows(bench.q.modes[0], naive_.means[0], naive_.covariances[0], "mode 0");
}

TEST_P(MeanFieldTest, ColumnModesAreM3OneAfterTheOther) {
  Bench bench(naive_);
  ASSERT_TRUE(bench.field.update_column_modes(bench.q, bench.view));
  for (int n = 1; n < int(naive_.sizes.size()); ++n) {
    naive_.update_mode(n);
    expect_rows(bench.q.modes[n], naive_.means[n], naive_.covariances[n],
                "mode " + std::to_string(n));
  }
}

TEST_P(MeanFieldTest, TimeIsM4) {
  Bench bench(naive_);
  ASSERT_TRUE(bench.field.update_time(bench.q, bench.view));
  naive_.update_time();
  expect_rows(bench.q.time, naive_.time_means, naive_.time_covariances, "time");
}

TEST_P(MeanFieldTest, ComponentPrecisionIsM5) {
  Bench bench(naive_);
  const int slices = naive_.slices();
  bench.field.update_component_precision(bench.q, slices, bench.field.component_count(slices));
  naive_.update_lambda();
  for (int r = 0; r < kRank; ++r)
    EXPECT_NEAR(bench.q.lambda[r], naive_.lambda(r), kTolerance * naive_.lambda(r));
}

// With a sparse part in the newest slice: the window holds Y - S, the variances are added outside.
TEST_P(MeanFieldTest, SummarizedErrorIsTheOneOfM8) {
  for (bool sparse : {false, true}) {
    if (sparse) add_random_sparse_part(naive_, random_);
    Bench bench(naive_);
    ASSERT_TRUE(bench.field.update_time(bench.q, bench.view));
    double error = bench.field.summarized_error(bench.q, bench.view), observed = 0.0, sum = 0.0;
    for (int t = 0; t < bench.view.size(); ++t) {
      observed += bench.view.weights[t] * double(bench.window[t].observed);
      sum += bench.view.weights[t] * bench.field.summarized_error(bench.q, bench.view, t);
    }
    EXPECT_DOUBLE_EQ(error, sum);
    for (int cell = 0; sparse && cell < naive_.cells(); ++cell)
      if (naive_.window.back().mask[cell]) error += naive_.sigma2[cell];
    const double tau = (kGammaPrior + 0.5 * observed) / (kGammaPrior + 0.5 * error);

    NaiveModel naive = naive_;
    naive.update_time();
    naive.update_tau();
    EXPECT_NEAR(tau, naive.tau, kTolerance * naive.tau) << "sparse " << sparse;
  }
}

TEST_P(MeanFieldTest, SummaryOfASliceIsWhatM4Sums) {
  Bench bench(naive_);
  for (int t = 0; t < naive_.slices(); ++t) {
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(kRank, kRank);
    Eigen::VectorXd load = Eigen::VectorXd::Zero(kRank);
    for (int cell = 0; cell < naive_.cells(); ++cell) {
      if (!naive_.window[t].mask[cell]) continue;
      gram += naive_.moment_product(cell);
      load += naive_.target(t, cell) * naive_.mean_product(cell);
    }
    std::vector<double> packed(padded(packed_size(kRank))), sums(padded(kRank));
    bench.field.summarize(bench.q, bench.window[t], packed.data(), sums.data());
    for (int r = 0; r < kRank; ++r) {
      EXPECT_NEAR(sums[r], load(r), kTolerance * (1.0 + load.norm())) << "slice " << t;
      for (int s = 0; s <= r; ++s)
        EXPECT_NEAR(packed[packed_index(r, s)], gram(r, s), kTolerance * (1.0 + gram.norm()));
    }
    EXPECT_NEAR(bench.field.expected_error(bench.q, bench.window[t], t, packed.data(), sums.data()),
                naive_.expected_error(t),
                kTolerance * (1.0 + bench.window[t].squares + gram.norm()));
  }
}

// What a sweep does: each update sees what the ones before it have left behind.
TEST_P(MeanFieldTest, ThreeSweepsFollowTheNaiveModel) {
  Bench bench(naive_);
  for (int sweep = 0; sweep < 3; ++sweep) {
    ASSERT_TRUE(bench.field.update_row_mode(bench.q, bench.view));
    ASSERT_TRUE(bench.field.update_column_modes(bench.q, bench.view));
    bench.field.project(bench.q, bench.view);
    ASSERT_TRUE(bench.field.update_time(bench.q, bench.view));
    bench.field.update_component_precision(bench.q, naive_.slices(),
                                           bench.field.component_count(naive_.slices()));
    for (int n = 0; n < int(naive_.sizes.size()); ++n) naive_.update_mode(n);
    naive_.update_time();
    naive_.update_lambda();
  }
  // A sweep multiplies differences in the last digit by about ten.
  for (int t = 0; t < naive_.slices(); ++t) {
    std::vector<double> low_rank(bench.window.layout().padded_cells());
    bench.field.low_rank(bench.q, bench.q.time.mean_of(t), low_rank.data());
    for (int cell = 0; cell < naive_.cells(); ++cell)
      ASSERT_NEAR(low_rank[bench.place(cell)], naive_.low_rank(t, cell), 1e-8)
          << "slice " << t << ", cell " << cell;
  }
}

TEST_P(MeanFieldTest, LowRankAndItsSquaresAreTheExpectationsOfEveryCell) {
  Bench bench(naive_);
  const Layout& layout = bench.window.layout();
  for (int t = 0; t < naive_.slices(); ++t) {
    std::vector<double> low_rank(layout.padded_cells()), squares(layout.padded_cells());
    bench.field.low_rank(bench.q, bench.q.time.mean_of(t), low_rank.data());
    bench.field.low_rank_squares(bench.q, bench.q.time.moment_of(t), squares.data());
    for (int cell = 0; cell < naive_.cells(); ++cell) {
      const double square = naive_.low_rank_squares(t, cell);
      EXPECT_NEAR(low_rank[bench.place(cell)], naive_.low_rank(t, cell),
                  kTolerance * std::sqrt(square));
      EXPECT_NEAR(squares[bench.place(cell)], square, kTolerance * (1.0 + square));
    }
  }
}

TEST_P(MeanFieldTest, ResidualIsValueMinusLowRankWhereObservedAndZeroElsewhere) {
  Bench bench(naive_);
  const Layout& layout = bench.window.layout();
  for (int t = 0; t < naive_.slices(); ++t) {
    AlignedDoubles residual(layout.padded_cells(), 7.0);
    bench.field.residual(bench.q, bench.window[t], bench.q.time.mean_of(t), residual.data());
    AlignedDoubles expected(layout.padded_cells(), 0.0);
    for (int cell = 0; cell < naive_.cells(); ++cell)
      if (naive_.window[t].mask[cell])
        expected[bench.place(cell)] = naive_.target(t, cell) - naive_.low_rank(t, cell);
    for (std::size_t place = 0; place < expected.size(); ++place) {
      if (expected[place] == 0.0) {
        EXPECT_EQ(residual[place], 0.0) << "not observed, or padding, at " << place;
      } else {
        EXPECT_NEAR(residual[place], expected[place], 1e-12);  // numbers of size 1 to 10
      }
    }
  }
}

// Block by block, each once: the same numbers as all at a time.
TEST_P(MeanFieldTest, VisitedResidualsAreTheResiduals) {
  Bench bench(naive_);
  const Layout& layout = bench.window.layout();
  for (int t = 0; t < naive_.slices(); ++t) {
    AlignedDoubles residual(layout.padded_cells(), 7.0), visited(layout.padded_cells(), 8.0);
    bench.field.residual(bench.q, bench.window[t], bench.q.time.mean_of(t), residual.data());
    std::vector<int> visits(bench.field.row_blocks(), 0);
    bench.field.visit_residuals(
        bench.q, bench.window[t], bench.q.time.mean_of(t), [&](int block, const double* residuals) {
          ++visits[block];
          const int first = block * kRowBlock;
          const int rows = std::min(kRowBlock, layout.rows - first);
          std::copy_n(residuals, rows * layout.stride, visited.begin() + first * layout.stride);
        });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
    EXPECT_EQ(visited, residual);
  }
}

TEST_P(MeanFieldTest, ColumnFactorIsTheProductOverTheColumnModes) {
  const Bench bench(naive_);
  for (int cell = 0; cell < naive_.cells(); ++cell) {
    const Eigen::VectorXd product = naive_.mean_product(cell, 0);
    for (int r = 0; r < kRank; ++r)
      EXPECT_NEAR(bench.field.column_factor(r)[cell % bench.window.layout().columns], product(r),
                  1e-13);
  }
}

TEST_P(MeanFieldTest, ProjectingOneSliceOrAllIsTheSame) {
  Bench all(naive_), single(naive_);
  for (int t = 0; t < naive_.slices(); ++t) {
    std::fill(single.window[t].projected.begin(), single.window[t].projected.end(), 0.0);
    if (!single.window[t].full)
      std::fill(single.window[t].moment_sums.begin(), single.window[t].moment_sums.end(), 0.0);
    single.field.project(single.q, single.window[t]);
    EXPECT_EQ(single.window[t].projected, all.window[t].projected);
    EXPECT_EQ(single.window[t].moment_sums, all.window[t].moment_sums);
    std::fill(single.window[t].projected.begin(), single.window[t].projected.end(), 0.0);
    single.field.project_values(single.q, single.window[t]);
    EXPECT_EQ(single.window[t].projected, all.window[t].projected);
  }
}

// A slice without a hole is dealt with by one Gram matrix for all rows; the general way through its
// mask must come to the same.
TEST_P(MeanFieldTest, FullSlicesAreTheSameThroughTheirMask) {
  Bench shared(naive_), masked(naive_);
  for (WindowSlice* slice : masked.view.slices) slice->full = false;
  masked.refresh();
  for (Bench* bench : {&shared, &masked}) {
    ASSERT_TRUE(bench->field.update_row_mode(bench->q, bench->view));
    ASSERT_TRUE(bench->field.update_column_modes(bench->q, bench->view));
    bench->field.project(bench->q, bench->view);
    ASSERT_TRUE(bench->field.update_time(bench->q, bench->view));
  }
  const auto expect_same = [](const AlignedDoubles& x, const AlignedDoubles& y) {
    double size = 0.0;
    for (double value : x) size = std::max(size, std::abs(value));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], kTolerance * size);
  };
  for (std::size_t n = 0; n < shared.q.modes.size(); ++n) {
    expect_same(shared.q.modes[n].mean, masked.q.modes[n].mean);
    expect_same(shared.q.modes[n].moment, masked.q.modes[n].moment);
  }
  expect_same(shared.q.time.mean, masked.q.time.mean);
  expect_same(shared.q.time.moment, masked.q.time.moment);
  const double error = shared.field.summarized_error(shared.q, shared.view);
  EXPECT_NEAR(error, masked.field.summarized_error(masked.q, masked.view), kTolerance * error);
}

TEST_P(MeanFieldTest, UpdatesSayWhenAPrecisionIsNotPositiveDefinite) {
  for (double lambda : {-1e9, std::nan("")}) {
    const auto broken = [&] {
      auto bench = std::make_unique<Bench>(naive_);
      bench->q.lambda[1] = lambda;
      return bench;
    };
    auto bench = broken();
    EXPECT_FALSE(bench->field.update_row_mode(bench->q, bench->view));
    bench = broken();
    EXPECT_FALSE(bench->field.update_time(bench->q, bench->view));
    if (naive_.sizes.size() == 1) continue;
    bench = broken();
    EXPECT_FALSE(bench->field.update_column_modes(bench->q, bench->view));
  }
}

std::vector<Setting> settings() {
  const std::vector<std::pair<std::string, SliceShape>> shapes = {
      {"OneWay", {6}}, {"TwoWay", {5, 7}}, {"ThreeWay", {4, 5, 3}}, {"FourWay", {3, 4, 2, 2}}};
  const std::vector<std::pair<std::string, std::vector<double>>> masks = {
      {"AllObserved", {0, 0, 0, 0, 0}},
      {"FewMissing", {0.1, 0.1, 0.1, 0.1, 0.1}},
      {"MostMissing", {0.6, 0.6, 0.6, 0.6, 0.6}},
      {"Mixed", {0, 0.1, 0.6, 1, 0, 0.1}}};
  std::vector<Setting> all;
  for (const auto& [shape_name, shape] : shapes)
    for (const auto& [mask_name, missing] : masks)
      all.push_back({shape_name + mask_name, shape, missing});
  // More than one mask word each way, and rows in more than one block.
  all.push_back({"TwoWayManyWordsMixed", {70, 67}, {0, 0.1, 0.6}});
  return all;
}
INSTANTIATE_TEST_SUITE_P(, MeanFieldTest, testing::ValuesIn(settings()),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace outlierd::model
