// A factorizer that goes on with other rows, and a projection with another noise.

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/streaming_factorizer.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

FactorizerOptions small_options() {
  FactorizerOptions options;
  options.window = 20;
  options.max_rank = 3;
  return options;
}

test::SyntheticStream stream_of(int slices) {
  return test::synthetic_stream(
      {.shape = {8, 6}, .slices = slices, .rank = 2, .noise_db = -40.0, .smooth = true, .seed = 4});
}

TEST(Rearrange, RowsInBothAreExpectedToBeWhatTheyWere) {
  const auto stream = stream_of(41);
  StreamingFactorizer whole({8, 6}, small_options());
  for (int t = 0; t < 40; ++t) whole.update(stream.slices[t]);
  const std::vector<std::vector<int>> from = {{7, 2, -1, 0, 1, 3, 4}, {5, 4, 3, 1}};
  auto moved =
      StreamingFactorizer::restore_rearranged(whole.save(), {8, 6}, {7, 4}, from, small_options());
  ASSERT_TRUE(moved) << moved.error();
  Slice slice({7, 4});
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 4; ++j)
      if (from[0][i] >= 0)
        slice.set(std::size_t(i * 4 + j), stream.slices[40].values[from[0][i] * 6 + from[1][j]]);
  const SliceResult& result = moved->project(slice);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 4; ++j) {
      if (from[0][i] < 0) {
        EXPECT_EQ(result.expected[i * 4 + j], 0.0);  // nothing is known of it
        continue;
      }
      const double truth = stream.low_rank[40][std::size_t(from[0][i] * 6 + from[1][j])];
      EXPECT_NEAR(result.expected[i * 4 + j], truth, 10.0 * stream.sigma);
    }
  for (int t = 0; t < 3; ++t) EXPECT_NE(moved->update(slice).status, SliceStatus::kBadInput);
}

TEST(Rearrange, WithEveryRowInItsPlaceChangesNothing) {
  const auto stream = stream_of(31);
  StreamingFactorizer whole({8, 6}, small_options());
  for (int t = 0; t < 30; ++t) whole.update(stream.slices[t]);
  auto moved = StreamingFactorizer::restore_rearranged(
      whole.save(), {8, 6}, {8, 6}, {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5}},
      small_options());
  ASSERT_TRUE(moved) << moved.error();
  EXPECT_EQ(moved->project(stream.slices[30]).expected, whole.project(stream.slices[30]).expected);
}

TEST(Rearrange, RefusesRowsThatWereNotThere) {
  StreamingFactorizer whole({8, 6}, small_options());
  const auto bytes = whole.save();
  EXPECT_FALSE(
      StreamingFactorizer::restore_rearranged(bytes, {8, 6}, {1, 1}, {{8}, {0}}, small_options()));
  EXPECT_FALSE(
      StreamingFactorizer::restore_rearranged(bytes, {8, 6}, {1, 1}, {{0}}, small_options()));
  EXPECT_FALSE(
      StreamingFactorizer::restore_rearranged(bytes, {8, 6}, {2, 1}, {{0}, {0}}, small_options()));
}

TEST(ProjectWithAnotherNoise, TakesFewerCellsForOutliersWhenTheNoiseIsLarger) {
  auto stream = stream_of(41);
  StreamingFactorizer model({8, 6}, small_options());
  for (int t = 0; t < 40; ++t) model.update(stream.slices[t]);
  stream.slices[40].values[9] += 20.0 * stream.sigma;
  const double precision = model.project(stream.slices[40]).noise_precision;
  EXPECT_NE(model.projection().sparse[9], 0.0);
  model.project(stream.slices[40], 1.0 / std::pow(20.0 * stream.sigma, 2.0));
  EXPECT_EQ(model.projection().sparse[9], 0.0);
  EXPECT_EQ(model.project(stream.slices[40]).noise_precision, precision);  // it was borrowed
}

}  // namespace
}  // namespace outlierd::model
