// The kernels that walk the rows of factors, in both builds, against plain loops.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/model/packed.h"
#include "tests/support/random.h"
#include "tests/support/strided.h"

namespace outlierd::model {
namespace {

using test::expect_gaps_untouched;
using test::kUntouched;
using test::Random;
using test::random_matrix;
using test::rounding;
using test::Strided;

class RowKernels : public test::KernelsTest {};

const std::vector<int> kRows = {1, 2, 3, 5, 8, 33};
const std::vector<int> kWidths = {4, 8, 12, 16, 28, 56};

TEST_P(RowKernels, WeighRowsMultipliesEachColumnByItsWeight) {
  Random random(1);
  for (int rows : kRows)
    for (int width : kWidths) {
      const Strided x = random_matrix(rows, width, width, random.index(6), random);
      const Strided weights = random_matrix(1, width, width, 0, random);
      Strided out(rows, width, random.index(6), kUntouched);
      kernel_.weigh_rows(rows, width, weights.data(), x.data(), x.ld, out.data(), out.ld);
      for (int i = 0; i < rows; ++i)
        for (int p = 0; p < width; ++p)
          ASSERT_EQ(out.at(i, p), weights.at(0, p) * x.at(i, p)) << i << ", " << p;
      expect_gaps_untouched(out);
    }
}

TEST_P(RowKernels, SumWeightedRowsAddsTheInputsInTheRowsAsked) {
  Random random(2);
  for (int inputs : {1, 2, 7, 20})
    for (int width : kWidths) {
      const int rows = 9, begin = random.index(4), end = 5 + random.index(5), gap = random.index(6);
      std::vector<Strided> x;
      std::vector<const double*> pointers;
      for (int t = 0; t < inputs; ++t) x.push_back(random_matrix(rows, width, width, gap, random));
      for (const Strided& input : x) pointers.push_back(input.data());
      const Strided weights = random_matrix(inputs, width, width, random.index(6), random);
      Strided out(rows, width, random.index(6), kUntouched);
      kernel_.sum_weighted_rows(inputs, begin, end, width, weights.data(), weights.ld,
                                pointers.data(), x[0].ld, out.data(), out.ld);
      for (int i = 0; i < rows; ++i)
        for (int p = 0; p < width; ++p) {
          double sum = 0.0, size = 0.0;
          for (int t = 0; t < inputs; ++t) {
            sum += weights.at(t, p) * x[t].at(i, p);
            size += std::abs(weights.at(t, p) * x[t].at(i, p));
          }
          if (i < begin || i >= end) {
            ASSERT_EQ(out.at(i, p), kUntouched) << i;
          } else {
            ASSERT_NEAR(out.at(i, p), sum, rounding(inputs, size)) << i << ", " << p;
          }
        }
      expect_gaps_untouched(out);
    }
}

TEST_P(RowKernels, SumsOverRowsAreThoseOfAPlainLoop) {
  Random random(3);
  for (int rows : kRows)
    for (int width : kWidths) {
      const Strided x = random_matrix(rows, width, width, random.index(6), random);
      const Strided y = random_matrix(rows, width, width, random.index(6), random);
      std::vector<double> sums(width, kUntouched), products(width, kUntouched);
      kernel_.sum_rows(rows, width, x.data(), x.ld, sums.data());
      kernel_.sum_products(rows, width, x.data(), x.ld, y.data(), y.ld, products.data());
      for (int p = 0; p < width; ++p) {
        double sum = 0.0, size = 0.0, product = 0.0, product_size = 0.0;
        for (int i = 0; i < rows; ++i) {
          sum += x.at(i, p);
          size += std::abs(x.at(i, p));
          product += x.at(i, p) * y.at(i, p);
          product_size += std::abs(x.at(i, p) * y.at(i, p));
        }
        ASSERT_NEAR(sums[p], sum, rounding(rows, size));
        ASSERT_NEAR(products[p], product, rounding(rows, product_size));
      }
    }
}

TEST_P(RowKernels, SecondMomentsAreTheVariancePlusTheSquareOfTheMean) {
  Random random(4);
  for (int rows : kRows)
    for (int rank : {1, 2, 3, 4, 5, 7, 8, 10, 13, 64}) {
      const int packed = packed_size(rank);
      const Strided mean = random_matrix(rows, padded(rank), rank, random.index(6), random);
      const Strided variance = random_matrix(1, padded(packed), packed, 0, random);
      Strided moment(rows, padded(packed), random.index(6), kUntouched);
      kernel_.second_moments(rows, rank, variance.data(), mean.data(), mean.ld, moment.data(),
                             moment.ld);
      for (int i = 0; i < rows; ++i)
        for (int r = 0, p = 0; r < rank; ++r)
          for (int s = 0; s <= r; ++s, ++p) {
            const double product = mean.at(i, r) * mean.at(i, s);
            ASSERT_NEAR(moment.at(i, p), variance.at(0, p) + product,
                        rounding(2, std::abs(variance.at(0, p)) + std::abs(product)))
                << "rank " << rank << ": " << r << ", " << s;
          }
      expect_gaps_untouched(moment);
    }
}

TEST_P(RowKernels, SumOfSquaresIsThatOfAPlainLoop) {
  Random random(5);
  for (int n : {0, 1, 3, 4, 15, 16, 17, 100}) {
    std::vector<double> x(n);
    double sum = 0.0;
    for (double& value : x) {
      value = random.normal();
      sum += value * value;
    }
    EXPECT_NEAR(kernel_.sum_of_squares(x.data(), n), sum, rounding(n, sum)) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(, RowKernels, test::both_kernels(), test::name_of_choice);

}  // namespace
}  // namespace outlierd::model
