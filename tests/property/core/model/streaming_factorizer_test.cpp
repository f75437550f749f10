// What must hold of the factorizer whatever the data: names of nodes, units and what stands under
// the mask do not matter, and a stream may be cut anywhere.

#include "core/model/streaming_factorizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/results.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

using test::Random;
using test::relative_error;
using test::same;

constexpr int kSeeds = 6;
constexpr int kSlices = 50;

struct Setting {
  std::string name;
  SliceShape shape;
  double missing;
  bool smooth;
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class AnyStream : public testing::TestWithParam<Setting> {
 protected:
  // Three components, 3% outliers, and if wanted one cell at a new level from slice 30 on.
  static test::SyntheticStream stream_of(std::uint64_t seed, bool step = true) {
    auto stream = test::synthetic_stream({.shape = GetParam().shape,
                                          .slices = kSlices,
                                          .rank = 3,
                                          .outlier_share = 0.03,
                                          .missing_share = GetParam().missing,
                                          .smooth = GetParam().smooth,
                                          .seed = seed});
    for (int t = 30; step && t < kSlices; ++t) {
      Slice& slice = stream.slices[t];
      if (slice.observed[5]) slice.values[5] += 30.0 * stream.sigma;
    }
    return stream;
  }
};

std::vector<int> random_order(int n, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int i = n - 1; i > 0; --i) std::swap(order[i], order[random.index(i + 1)]);
  return order;
}

// Where each cell goes when the nodes of each mode are renamed.
std::vector<std::size_t> relabelled(const SliceShape& shape,
                                    const std::vector<std::vector<int>>& orders) {
  std::vector<std::size_t> places(cell_count(shape));
  for (std::size_t cell = 0; cell < places.size(); ++cell) {
    std::size_t rest = cell, step = 1;
    for (std::size_t mode = shape.size(); mode-- > 0;) {
      const auto size = std::size_t(shape[mode]);
      places[cell] += step * std::size_t(orders[mode][rest % size]);
      rest /= size;
      step *= size;
    }
  }
  return places;
}

template <class T>
std::vector<T> moved(const std::vector<T>& values, const std::vector<std::size_t>& places) {
  std::vector<T> out(values.size());
  for (std::size_t cell = 0; cell < values.size(); ++cell) out[places[cell]] = values[cell];
  return out;
}

std::vector<bool> decisions(const SliceResult& result) {
  std::vector<bool> flagged;
  for (double sparse : result.sparse) flagged.push_back(sparse != 0.0);
  return flagged;
}

// The largest relative difference of what is expected, over the stream; ranks and decisions agree.
double relabelling_difference(const test::SyntheticStream& stream, const SliceShape& shape,
                              const std::vector<std::size_t>& places) {
  StreamingFactorizer plain(shape, {}), renamed(shape, {});
  double worst = 0.0;
  for (const Slice& slice : stream.slices) {
    Slice other = slice;
    other.values = moved(slice.values, places);
    other.observed = moved(slice.observed, places);
    const Learned learned = plain.update(slice), learned_renamed = renamed.update(other);
    EXPECT_EQ(learned.rank, learned_renamed.rank);
    if (plain.projection().status == SliceStatus::kWarmingUp) continue;
    EXPECT_EQ(moved(decisions(plain.projection()), places), decisions(renamed.projection()));
    const std::vector<double> expected = moved(plain.projection().expected, places);
    worst = std::max(worst, relative_error(renamed.projection().expected, expected));
  }
  return worst;
}

// Nodes in another order change only the order of some sums: rounding, which some hundred sweeps
// multiply at most ten thousandfold.
constexpr double kRounding = 1e-11;

TEST_P(AnyStream, RelabellingTheFirstModePermutesTheResult) {
  const SliceShape& shape = GetParam().shape;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    std::vector<std::vector<int>> orders = {random_order(shape[0], random)};
    for (std::size_t mode = 1; mode < shape.size(); ++mode) {
      orders.emplace_back(std::size_t(shape[mode]));
      std::iota(orders.back().begin(), orders.back().end(), 0);
    }
    EXPECT_LT(relabelling_difference(stream_of(seed), shape, relabelled(shape, orders)), kRounding)
        << "seed " << seed;
  }
}

TEST_P(AnyStream, RelabellingAllNodesPermutesTheResult) {
  const SliceShape& shape = GetParam().shape;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    std::vector<std::vector<int>> orders;
    for (int size : shape) orders.push_back(random_order(size, random));
    EXPECT_LT(relabelling_difference(stream_of(seed), shape, relabelled(shape, orders)), kRounding)
        << "seed " << seed;
  }
}

TEST_P(AnyStream, TheValueUnderTheMaskNeverMatters) {
  const double poison[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -1e308, 1e-310, 17.0};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    StreamingFactorizer plain(GetParam().shape, {}), poisoned(GetParam().shape, {});
    for (Slice& slice : stream_of(seed).slices) {
      slice.hide(std::size_t(random.index(int(slice.values.size()))));
      Slice other = slice;
      for (std::size_t cell = 0; cell < slice.values.size(); ++cell)
        if (!slice.observed[cell]) {
          slice.values[cell] = 0.0;
          other.values[cell] = poison[random.index(5)];
        }
      ASSERT_TRUE(same(plain.update(slice), poisoned.update(other)));
      ASSERT_TRUE(same(plain.projection(), poisoned.projection()));
    }
    EXPECT_TRUE(plain.save() == poisoned.save());
  }
}

// Data are normalised by a power of two: one more, and every number of the model is the same.
TEST_P(AnyStream, ScalingByAPowerOfTwoIsExact) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const test::SyntheticStream stream = stream_of(seed);
    for (int power : {1, -3, 40, -100, 300}) {
      StreamingFactorizer plain(GetParam().shape, {}), scaled(GetParam().shape, {});
      for (const Slice& slice : stream.slices) {
        Slice other = slice;
        for (double& value : other.values) value = std::ldexp(value, power);
        const Learned learned = plain.update(slice), learned_scaled = scaled.update(other);
        EXPECT_EQ(learned.status, learned_scaled.status);
        EXPECT_EQ(learned.rank, learned_scaled.rank);
        EXPECT_EQ(learned.noise_precision, std::ldexp(learned_scaled.noise_precision, 2 * power));
        SliceResult expected = plain.projection();
        for (auto* field :
             {&expected.expected, &expected.spread, &expected.sparse, &expected.sparse_spread})
          for (double& value : *field) value = std::ldexp(value, power);
        expected.noise_precision = std::ldexp(expected.noise_precision, -2 * power);
        ASSERT_TRUE(same(scaled.projection(), expected)) << "2^" << power << ", seed " << seed;
      }
    }
  }
}

// Any other unit: the same decisions. The priors' 1e-6 act on data of size 1 to 2, so the numbers
// are the same to about that; where two components are nearly one, what tells them apart multiplies
// it (smooth streams: up to 4e-4 seen).
TEST_P(AnyStream, ScalingByAnyFactorScalesTheResultAndChangesNoDecision) {
  const double tolerance = GetParam().smooth ? 1e-3 : 1e-6;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const test::SyntheticStream stream = stream_of(seed, false);
    for (double factor : {1e-6, 3.7, 1e9}) {
      StreamingFactorizer plain(GetParam().shape, {}), scaled(GetParam().shape, {});
      for (const Slice& slice : stream.slices) {
        Slice other = slice;
        for (double& value : other.values) value *= factor;
        const Learned learned = plain.update(slice), learned_scaled = scaled.update(other);
        EXPECT_EQ(learned.rank, learned_scaled.rank) << factor << ", seed " << seed;
        if (plain.projection().status == SliceStatus::kWarmingUp) continue;
        EXPECT_EQ(decisions(plain.projection()), decisions(scaled.projection()));
        SliceResult back = scaled.projection();
        for (auto* field : {&back.expected, &back.sparse})
          for (double& value : *field) value /= factor;
        ASSERT_LT(relative_error(back.expected, plain.projection().expected), tolerance)
            << factor << ", seed " << seed;
        if (decisions(back) != std::vector<bool>(back.sparse.size())) {
          ASSERT_LT(relative_error(back.sparse, plain.projection().sparse), tolerance);
        }
      }
    }
  }
}

TEST_P(AnyStream, SavingAndRestoringMidStreamChangesNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    StreamingFactorizer plain(GetParam().shape, {}), cut(GetParam().shape, {});
    for (const Slice& slice : stream_of(seed).slices) {
      if (random.chance(0.3)) {
        auto restored = StreamingFactorizer::restore(cut.save(), GetParam().shape, {});
        ASSERT_TRUE(restored) << restored.error();
        cut = std::move(*restored);
      }
      ASSERT_TRUE(same(plain.update(slice), cut.update(slice)));
      ASSERT_TRUE(same(plain.projection(), cut.projection()));
    }
    EXPECT_TRUE(plain.save() == cut.save());
  }
}

INSTANTIATE_TEST_SUITE_P(, AnyStream,
                         testing::Values(Setting{"TwoWay", {12, 13}, 0.0, false},
                                         Setting{"TwoWayMasked", {12, 13}, 0.3, false},
                                         Setting{"TwoWaySmooth", {12, 13}, 0.0, true},
                                         Setting{"TwoWaySmoothMasked", {12, 13}, 0.3, true},
                                         Setting{"ThreeWay", {8, 7, 4}, 0.0, false},
                                         Setting{"ThreeWayMasked", {8, 7, 4}, 0.3, false},
                                         Setting{"ThreeWaySmoothMasked", {8, 7, 4}, 0.2, true}),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace outlierd::model
