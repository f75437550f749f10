// outlierd_tables: the error table of docs/model.md, for our rules and for the printed ones, from
// the Abilene week in ../shared/data (or $OUTLIERD_DATA). Prints Markdown.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

#include "core/model/streaming_factorizer.h"
#include "tests/support/data_files.h"

namespace {

using namespace outlierd;
using model::FactorizerOptions;
using model::Rules;
using model::SliceResult;
using model::StreamingFactorizer;
using test::Table;

constexpr int kNodes = 11;
constexpr std::size_t kCells = kNodes * kNodes;

struct Errors {
  std::vector<double> all, kept, unobserved;  // |X - L| / |X| of each slice
  double flagged = 0.0, rank = 0.0, seconds = 0.0;
};

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (double value : values) sum += value;
  return sum / double(values.size());
}

// |x - l| / |x| over the cells that `counts`.
template <class Counts>
double relative_error(const std::vector<double>& x, const std::vector<double>& l, double unit,
                      Counts counts) {
  double error = 0.0, size = 0.0;
  for (std::size_t cell = 0; cell < kCells; ++cell)
    if (counts(cell)) {
      error += std::pow(l[cell] - unit * x[cell], 2);
      size += std::pow(unit * x[cell], 2);
    }
  return std::sqrt(error / size);
}

// Errors after `first` slices; the mask (null: none) says what the factorizer may see. The authors'
// first mode is the destination, so the printed rules get it so.
Errors run(const Table& week, const Table* mask, std::size_t slices, std::size_t first, double unit,
           const FactorizerOptions& options) {
  const bool transpose = options.rules == Rules::kPaper;
  StreamingFactorizer factorizer({kNodes, kNodes}, options);
  Errors errors;
  for (std::size_t t = 0; t < slices; ++t) {
    const auto place = [&](std::size_t cell) {
      return transpose ? cell % kNodes * kNodes + cell / kNodes : cell;
    };
    Slice slice({kNodes, kNodes});
    for (std::size_t cell = 0; cell < kCells; ++cell)
      if (!mask || mask->rows[t][cell] != 0.0) slice.set(place(cell), unit * week.rows[t][cell]);
    const auto start = std::chrono::steady_clock::now();
    const model::Learned learned = factorizer.update(slice);
    errors.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (t < first) continue;
    const SliceResult& fitted = factorizer.fitted();
    std::vector<double> expected(kCells);
    for (std::size_t cell = 0; cell < kCells; ++cell) expected[cell] = fitted.expected[place(cell)];
    const std::vector<double>& x = week.rows[t];
    errors.all.push_back(relative_error(x, expected, unit, [](std::size_t) { return true; }));
    errors.kept.push_back(relative_error(
        x, expected, unit, [&](std::size_t cell) { return fitted.sparse[place(cell)] == 0.0; }));
    if (mask)
      errors.unobserved.push_back(relative_error(
          x, expected, unit, [&](std::size_t cell) { return mask->rows[t][cell] == 0.0; }));
    errors.rank += learned.rank;
    errors.flagged += double(std::count_if(fitted.sparse.begin(), fitted.sparse.end(),
                                           [](double s) { return s != 0.0; }));
  }
  errors.rank /= double(errors.all.size());
  errors.flagged /= double(errors.all.size());
  errors.seconds /= double(slices);
  return errors;
}

void print_row(const char* method, const char* unit, const Errors& full, const Errors& half,
               bool kept) {
  std::printf("| %s | %s | %.3f/%.3f | ", method, unit, mean(full.all), median(full.all));
  if (kept) {
    std::printf("%.3f/%.3f", mean(full.kept), median(full.kept));
  } else {
    std::printf("-");
  }
  std::printf(" | %.3f/%.3f | %.3f/%.3f | %.1f | %.1f | %.6f |\n", mean(half.all), median(half.all),
              mean(half.unobserved), median(half.unobserved), full.rank, full.flagged,
              full.seconds);
  std::fflush(stdout);
}

double standard_deviation(const Table& week, std::size_t slices) {
  double sum = 0.0, squares = 0.0;
  for (std::size_t t = 0; t < slices; ++t)
    for (double value : week.rows[t]) {
      sum += value;
      squares += value * value;
    }
  const double count = double(slices * kCells);
  return std::sqrt(squares / count - std::pow(sum / count, 2));
}

}  // namespace

int main() {
  const auto folder = test::data_folder();
  if (!folder) {
    std::cerr << "outlierd_tables: needs ../shared/data or $OUTLIERD_DATA\n";
    return 1;
  }
  const auto week = test::read_table(*folder / "traffic/abilene-sand-week.csv.gz");
  const auto mask = test::read_table(*folder / "golden/brst-half-mask.csv.gz");
  if (!week || !mask) {
    std::cerr << "outlierd_tables: " << (week ? mask.error() : week.error()) << '\n';
    return 1;
  }
  constexpr std::size_t kFull = 300, kHalf = 150, kWarm = 20, kPaperFull = 100, kPaperWarm = 10;
  const double deviation = 1.0 / standard_deviation(*week, kFull);

  std::printf(
      "| rules | unit | all observed, all cells | all observed, kept cells | half observed, all "
      "cells "
      "| half observed, unobserved cells | rank | outliers a slice | s a slice |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const bool sparse : {false, true})
    for (const auto& [name, unit] :
         {std::pair{"bytes", 1.0}, {"megabytes", 1e-6}, {"standard deviations", deviation}}) {
      FactorizerOptions options;
      options.sparse = sparse;
      print_row(sparse ? "outlierd" : "outlierd, no sparse part", name,
                run(*week, nullptr, kFull, kWarm, unit, options),
                run(*week, &*mask, kHalf, kWarm, unit, options), sparse);
    }
  for (const int sweeps : {1, 3, 5}) {
    FactorizerOptions options;
    options.warm_sweeps = sweeps;
    const std::string name = "outlierd, sweeps: " + std::to_string(sweeps);
    print_row(name.c_str(), "bytes", run(*week, nullptr, kFull, kWarm, 1.0, options),
              run(*week, &*mask, kHalf, kWarm, 1.0, options), true);
  }
  for (const auto& [name, unit] : {std::pair{"bytes", 1.0}, {"megabytes", 1e-6}}) {
    FactorizerOptions options;
    options.rules = Rules::kPaper;
    print_row("paper", name, run(*week, nullptr, kPaperFull, kPaperWarm, unit, options),
              run(*week, &*mask, kHalf, kPaperWarm, unit, options), false);
  }
  return 0;
}
