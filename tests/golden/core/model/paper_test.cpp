// The printed rules against what the paper authors' own program gives on the Abilene week, and what
// those rules make of other units (docs/model.md, "Why the printed sparse prior fails").

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "core/model/streaming_factorizer.h"
#include "tests/support/needs_data.h"
#include "tests/support/random.h"
#include "tests/support/results.h"

namespace outlierd::model {
namespace {

using Rows = std::vector<std::vector<double>>;

constexpr int kNodes = 11, kCells = kNodes * kNodes;
const SliceShape kShape = {kNodes, kNodes};
constexpr int kWindow = 20;
// Columns of brst-*-slices.csv.
constexpr int kIterations = 0, kTau = 1;

// The authors' first mode is the destination, which stands second in the files.
std::size_t place(std::size_t cell) { return cell % kNodes * kNodes + cell / kNodes; }

std::vector<double> in_file_order(const std::vector<double>& values) {
  std::vector<double> out(values.size());
  for (std::size_t cell = 0; cell < out.size(); ++cell) out[cell] = values[place(cell)];
  return out;
}

Slice slice_of(const std::vector<double>& row, double unit = 1.0) {
  Slice slice(kShape);
  for (std::size_t cell = 0; cell < row.size(); ++cell)
    if (!std::isnan(row[cell])) slice.set(place(cell), unit * row[cell]);
  return slice;
}

// The rows of a file of kCells columns, or a failure of the test.
Rows rows_of(const std::filesystem::path& file, std::size_t columns = kCells) {
  auto table = test::read_table(file);
  if (!table) {
    ADD_FAILURE() << table.error();
    return {};
  }
  EXPECT_EQ(table->columns.size(), columns) << file;
  return std::move(table->rows);
}

FactorizerOptions paper_options(int sweeps) {
  FactorizerOptions options;
  options.rules = Rules::kPaper;
  options.window = kWindow;
  options.tolerance = 0.0;  // exactly so many sweeps
  options.cold_sweeps = sweeps;
  return options;
}

// A window of raw slices. Every slice is fitted cold, so the number of sweeps can be another for
// each: the window is carried along and resumed under the options of the day.
class RawWindow {
 public:
  void add(const Slice& slice) { carrier_.update(slice); }
  SliceResult fit(const Slice& newest, int sweeps) const {
    auto fitter = StreamingFactorizer::restore(carrier_.save(), kShape, paper_options(sweeps));
    EXPECT_TRUE(fitter);
    return fitter->project(newest);
  }

 private:
  StreamingFactorizer carrier_{kShape, paper_options(1)};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Their S starts as unit noise, 1e-7 of the data, from random numbers that nobody has: no slice can
// agree better than it would with itself if its newest slice were so disturbed.
double own_spread(const RawWindow& window, const Slice& slice, int sweeps,
                  const std::vector<double>& low_rank) {
  double largest = 0.0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test::Random random(seed);
    Slice disturbed = slice;
    for (double& value : disturbed.values) value += random.normal();
    const SliceResult result = window.fit(disturbed, sweeps);
    largest = std::max(largest, test::relative_error(in_file_order(result.expected), low_rank));
  }
  return largest;
}

TEST(PaperRules, GiveTheAuthorsLowRankPartWhenAllIsObserved) {
  OUTLIERD_NEEDS_DATA(folder);
  const Rows week = rows_of(folder / "traffic/abilene-sand-week.csv.gz");
  const Rows golden = rows_of(folder / "golden/brst-full-lowrank.csv.gz");
  const Rows slices = rows_of(folder / "golden/brst-full-slices.csv", 5);
  ASSERT_FALSE(week.empty() || golden.size() != 100 || slices.size() != 100);

  RawWindow window;
  std::vector<double> errors;
  int beyond = 0;
  for (int t = 0; t < 100; ++t) {
    const Slice slice = slice_of(week[t]);
    if (t >= kWindow - 1) {
      const int sweeps = int(slices[t][kIterations]);
      const SliceResult result = window.fit(slice, sweeps);
      const std::vector<double> low_rank = in_file_order(result.expected);
      const double error = test::relative_error(low_rank, golden[t]);
      errors.push_back(error);
      // tau is printed to six digits.
      EXPECT_NEAR(result.noise_precision / slices[t][kTau], 1.0, 1e-3) << "slice " << t;
      if (error > 1e-6) {
        ++beyond;
        const double spread = own_spread(window, slice, sweeps, low_rank);
        std::cout << "slice " << t << ": " << error << ", of itself when disturbed " << spread
                  << '\n';
        EXPECT_LE(error, 3.0 * spread) << "slice " << t;
        EXPECT_LE(error, 1e-4) << "slice " << t;
      }
    }
    window.add(slice);
  }
  std::cout << "relative difference of L: median " << median(errors) << ", largest "
            << *std::max_element(errors.begin(), errors.end()) << ", " << beyond
            << " slices beyond 1e-6\n";
  RecordProperty("median_difference", std::to_string(median(errors)));
  EXPECT_LE(beyond, 2);
}

// An indexing slip in the authors' start fills only 11 of the unobserved values, which no other
// start repeats: medians are compared, not entries.
TEST(PaperRules, GiveTheAuthorsMedianErrorWhenHalfIsObserved) {
  OUTLIERD_NEEDS_DATA(folder);
  const Rows week = rows_of(folder / "traffic/abilene-sand-week.csv.gz");
  const Rows golden = rows_of(folder / "golden/brst-half-lowrank.csv.gz");
  const Rows mask = rows_of(folder / "golden/brst-half-mask.csv.gz");
  const Rows slices = rows_of(folder / "golden/brst-half-slices.csv", 5);
  ASSERT_FALSE(week.empty() || golden.size() != 150 || mask.size() != 150 || slices.size() != 150);

  RawWindow window;
  std::vector<double> all, unobserved, golden_all, golden_unobserved;
  for (int t = 0; t < 150; ++t) {
    std::vector<double> seen = week[t], hidden_truth, hidden, golden_hidden;
    for (std::size_t cell = 0; cell < seen.size(); ++cell)
      if (mask[t][cell] == 0.0) seen[cell] = std::nan("");
    const Slice slice = slice_of(seen);
    if (t >= 10) {
      const SliceResult result = window.fit(slice, int(slices[t][kIterations]));
      const std::vector<double> low_rank = in_file_order(result.expected);
      for (std::size_t cell = 0; cell < seen.size(); ++cell) {
        if (mask[t][cell] != 0.0) continue;
        hidden_truth.push_back(week[t][cell]);
        hidden.push_back(low_rank[cell]);
        golden_hidden.push_back(golden[t][cell]);
      }
      all.push_back(test::relative_error(low_rank, week[t]));
      golden_all.push_back(test::relative_error(golden[t], week[t]));
      unobserved.push_back(test::relative_error(hidden, hidden_truth));
      golden_unobserved.push_back(test::relative_error(golden_hidden, hidden_truth));
    }
    window.add(slice);
  }
  std::cout << "median error of all cells " << median(all) << ", theirs " << median(golden_all)
            << "; of unobserved cells " << median(unobserved) << ", theirs "
            << median(golden_unobserved) << '\n';
  EXPECT_NEAR(median(all) / median(golden_all), 1.0, 0.05);
  // Of the cells that only the start knows something about, a little less can be asked.
  EXPECT_NEAR(median(unobserved) / median(golden_unobserved), 1.0, 0.10);
}

// How much of the residual the sparse part has swallowed.
struct Swallowed {
  double cells = 0.0, taken = 0.0;  // cells whose S is more than half of X - L
  double largest_sparse = 0.0, largest_value = 0.0;

  void add(const std::vector<double>& value, const std::vector<double>& low_rank,
           const std::vector<double>& sparse, double unit) {
    for (std::size_t cell = 0; cell < value.size(); ++cell) {
      const double x = unit * value[cell];
      ++cells;
      taken += std::abs(sparse[cell]) > 0.5 * std::abs(x - low_rank[cell]);
      largest_sparse = std::max(largest_sparse, std::abs(sparse[cell]));
      largest_value = std::max(largest_value, std::abs(x));
    }
  }
  double share() const { return taken / cells; }
  double relative_size() const { return largest_sparse / largest_value; }
};

Swallowed swallowed_by_paper_rules(const Rows& week, const Rows& slices, double unit) {
  RawWindow window;
  Swallowed swallowed;
  for (int t = 0; t < 40; ++t) {
    const Slice slice = slice_of(week[t], unit);
    const int sweeps = int(slices[t][kIterations]);
    if (t >= kWindow - 1) {
      const SliceResult result = window.fit(slice, sweeps);
      swallowed.add(week[t], in_file_order(result.expected), in_file_order(result.sparse), unit);
    }
    window.add(slice);
  }
  return swallowed;
}

// In megabytes S swallows the noise of a third of all cells; in the raw unit it stays at nothing.
// The authors' program does both, and so do the printed rules here.
TEST(PaperRules, CollapseOrNotByTheUnitOfTheData) {
  OUTLIERD_NEEDS_DATA(folder);
  const Rows week = rows_of(folder / "traffic/abilene-sand-week.csv.gz");
  const Rows slices = rows_of(folder / "golden/brst-full-slices.csv", 5);
  const Rows mega_slices = rows_of(folder / "golden/brst-full-megabytes-slices.csv", 5);
  const Rows low_rank = rows_of(folder / "golden/brst-full-megabytes-lowrank.csv.gz");
  const Rows sparse = rows_of(folder / "golden/brst-full-megabytes-sparse.csv.gz");
  ASSERT_FALSE(week.empty() || slices.size() < 40 || mega_slices.size() < 40 ||
               low_rank.size() < 40 || sparse.size() < 40);

  Swallowed theirs;
  for (int t = kWindow - 1; t < 40; ++t) theirs.add(week[t], low_rank[t], sparse[t], 1e-6);
  const Swallowed megabytes = swallowed_by_paper_rules(week, mega_slices, 1e-6);
  const Swallowed raw = swallowed_by_paper_rules(week, slices, 1.0);
  std::cout << "cells of which S takes more than half: " << 100.0 * megabytes.share()
            << "% in megabytes, theirs " << 100.0 * theirs.share() << "%; raw "
            << 100.0 * raw.share() << "%, S " << raw.relative_size() << " of the data\n";
  EXPECT_GT(theirs.share(), 0.25);
  EXPECT_GT(megabytes.share(), 0.25);
  EXPECT_NEAR(megabytes.share(), theirs.share(), 0.1);  // of 2541 cells, from another start
  EXPECT_EQ(raw.share(), 0.0);
  EXPECT_LT(raw.relative_size(), 1e-10);
}

TEST(OutlierdRules, DecideTheSameInEveryUnit) {
  OUTLIERD_NEEDS_DATA(folder);
  const Rows week = rows_of(folder / "traffic/abilene-sand-week.csv.gz");
  ASSERT_FALSE(week.empty());
  StreamingFactorizer raw(kShape, {}), megabytes(kShape, {});
  double flagged = 0.0, cells = 0.0;
  for (int t = 0; t < 100; ++t) {
    const Learned learned = raw.update(slice_of(week[t]));
    EXPECT_EQ(megabytes.update(slice_of(week[t], 1e-6)).rank, learned.rank) << "slice " << t;
    if (raw.projection().status == SliceStatus::kWarmingUp) continue;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const bool decided = raw.projection().sparse[cell] != 0.0;
      EXPECT_EQ(megabytes.projection().sparse[cell] != 0.0, decided) << t << ", " << cell;
      flagged += decided;
      ++cells;
    }
  }
  std::cout << "flagged: " << 100.0 * flagged / cells << "% of the cells\n";
  EXPECT_LT(flagged / cells, 0.1);  // outliers are few
}

}  // namespace
}  // namespace outlierd::model
