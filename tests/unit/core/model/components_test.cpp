#include "core/model/components.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::Random;
using Vectors = std::vector<std::vector<double>>;  // of one component: a vector a mode, then time

constexpr int kSlices = 6;

std::vector<double> random_vector(int n, Random& random) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = random.normal();
  return x;
}

Vectors random_component(const SliceShape& shape, int slices, Random& random) {
  Vectors component;
  for (int size : shape) component.push_back(random_vector(size, random));
  component.push_back(random_vector(slices, random));
  return component;
}

std::vector<double> times(double factor, std::vector<double> x) {
  for (double& value : x) value *= factor;
  return x;
}

// A posterior of these components, with covariances of some random spread.
Posterior posterior_of(const SliceShape& shape, int slices, const std::vector<Vectors>& components,
                       Random& random) {
  Posterior q(shape, slices + 2, int(components.size()) + 1);
  q.rank = int(components.size());
  for (std::size_t f = 0; f <= shape.size(); ++f) {
    FactorRows& factor = f < shape.size() ? q.modes[f] : q.time;
    const int rows = f < shape.size() ? factor.rows : slices;
    for (int i = 0; i < rows; ++i) {
      for (int r = 0; r < q.rank; ++r) factor.mean_of(i)[r] = components[r][f][i];
      for (int r = 0; r < q.rank; ++r)
        for (int s = 0; s <= r; ++s)
          factor.moment_of(i)[packed_index(r, s)] =
              components[r][f][i] * components[s][f][i] +
              (r == s ? 0.1 + random.uniform() : 0.05 * random.normal());
    }
  }
  for (int r = 0; r < q.rank; ++r) q.lambda[r] = 1.0 + r;
  return q;
}

int coordinate(const SliceShape& shape, std::size_t cell, std::size_t mode) {
  for (std::size_t later = mode + 1; later < shape.size(); ++later)
    cell /= std::size_t(shape[later]);
  return int(cell % std::size_t(shape[mode]));
}

// sum_r c_t[r] prod_n A^n[i_n, r], every cell of every slice.
std::vector<double> tensor_of(const Posterior& q, const SliceShape& shape, int slices) {
  std::vector<double> tensor;
  for (int t = 0; t < slices; ++t)
    for (std::size_t cell = 0; cell < cell_count(shape); ++cell) {
      double sum = 0.0;
      for (int r = 0; r < q.rank; ++r) {
        double product = q.time.mean_of(t)[r];
        for (std::size_t n = 0; n < shape.size(); ++n)
          product *= q.modes[n].mean_of(coordinate(shape, cell, n))[r];
        sum += product;
      }
      tensor.push_back(sum);
    }
  return tensor;
}

void expect_same_tensor(const std::vector<double>& x, const std::vector<double>& y) {
  ASSERT_EQ(x.size(), y.size());
  // Products of a few numbers of size one, computed in another order.
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 1e-12) << k;
}

class ComponentsTest : public testing::TestWithParam<SliceShape> {};

TEST_P(ComponentsTest, WeakOnesAreDroppedAndTheOthersStay) {
  Random random(1);
  const SliceShape& shape = GetParam();
  std::vector<Vectors> components;
  for (int r = 0; r < 4; ++r) components.push_back(random_component(shape, kSlices, random));
  const Posterior whole = posterior_of(shape, kSlices, components, random);
  // Of the strongest, the second gets 0.9%, the fourth 1.1%.
  const double strongest = whole.strength(0, kSlices);
  components[1][0] = times(0.009 * strongest / whole.strength(1, kSlices), components[1][0]);
  components[2][0] = times(0.7 * strongest / whole.strength(2, kSlices), components[2][0]);
  components[3][0] = times(0.011 * strongest / whole.strength(3, kSlices), components[3][0]);
  Posterior q = posterior_of(shape, kSlices, components, random);

  Posterior without = q;
  without.drop_component(1);
  EXPECT_EQ(drop_weak_components(q, kSlices, 0.01), 1);
  EXPECT_EQ(q.rank, 3);
  expect_same_tensor(tensor_of(q, shape, kSlices), tensor_of(without, shape, kSlices));
  EXPECT_EQ(drop_weak_components(q, kSlices, 0.01), 0) << "nothing more to drop";
}

TEST_P(ComponentsTest, OnlyTheSlicesInTheWindowCountForStrength) {
  Random random(2);
  std::vector<Vectors> components;
  for (int r = 0; r < 2; ++r) components.push_back(random_component(GetParam(), kSlices, random));
  for (int t = 0; t < kSlices - 1; ++t) components[1].back()[t] = 0.0;
  Posterior q = posterior_of(GetParam(), kSlices, components, random);
  EXPECT_EQ(drop_weak_components(q, kSlices - 1, 0.01), 1);
  EXPECT_EQ(q.rank, 1);
}

TEST_P(ComponentsTest, OfNothingAllAreDropped) {
  Random random(3);
  std::vector<Vectors> components(2, random_component(GetParam(), kSlices, random));
  for (Vectors& component : components) component[0] = times(0.0, component[0]);
  Posterior q = posterior_of(GetParam(), kSlices, components, random);
  EXPECT_EQ(drop_weak_components(q, kSlices, 0.01), 2);
  EXPECT_EQ(q.rank, 0);
  EXPECT_EQ(drop_weak_components(q, kSlices, 0.01), 0);
  EXPECT_EQ(merge_parallel_components(q, kSlices, 0.95), 0);
}

// Parallel in all but one: (a, b, c) + (2 a, -3 b, d) = (a, b, c - 6 d), whichever the one is.
TEST_P(ComponentsTest, ParallelOnesAreMergedAndSayTheSame) {
  const SliceShape& shape = GetParam();
  const std::size_t factors = shape.size() + 1;
  for (std::size_t apart = 0; apart < factors; ++apart) {
    Random random(4 + apart);
    std::vector<Vectors> components;
    for (int r = 0; r < 3; ++r) components.push_back(random_component(shape, kSlices, random));
    const double factor[] = {2.0, -3.0, 0.5, -0.25};
    for (std::size_t f = 0; f < factors; ++f)
      if (f != apart) components[2][f] = times(factor[f], components[0][f]);
    Posterior q = posterior_of(shape, kSlices, components, random);
    const std::vector<double> before = tensor_of(q, shape, kSlices);
    EXPECT_EQ(merge_parallel_components(q, kSlices, 0.95), 1) << "apart in " << apart;
    EXPECT_EQ(q.rank, 2);
    expect_same_tensor(tensor_of(q, shape, kSlices), before);
  }
}

TEST_P(ComponentsTest, AMergeKeepsTheCovariancesOfTheOneThatStays) {
  Random random(9);
  const SliceShape& shape = GetParam();
  std::vector<Vectors> components;
  for (int r = 0; r < 2; ++r) components.push_back(random_component(shape, kSlices, random));
  components.push_back(components[0]);
  components[2].back() = random_vector(kSlices, random);
  const Posterior before = posterior_of(shape, kSlices, components, random);
  Posterior q = before;
  ASSERT_EQ(merge_parallel_components(q, kSlices, 0.95), 1);
  const auto covariance = [](const FactorRows& factor, int i, int r, int s) {
    return factor.moment_of(i)[packed_index(r, s)] - factor.mean_of(i)[r] * factor.mean_of(i)[s];
  };
  for (int t = 0; t < kSlices; ++t)
    for (int r = 0; r < 2; ++r)
      for (int s = 0; s <= r; ++s)
        EXPECT_NEAR(covariance(q.time, t, r, s), covariance(before.time, t, r, s), 1e-12);
}

TEST_P(ComponentsTest, ThreeCopiesBecomeOne) {
  Random random(10);
  const Vectors component = random_component(GetParam(), kSlices, random);
  Posterior q = posterior_of(GetParam(), kSlices, {component, component, component}, random);
  const std::vector<double> before = tensor_of(q, GetParam(), kSlices);
  EXPECT_EQ(merge_parallel_components(q, kSlices, 0.95), 2);
  EXPECT_EQ(q.rank, 1);
  expect_same_tensor(tensor_of(q, GetParam(), kSlices), before);
}

// With two factors apart the sum is of rank two: nothing may be merged.
TEST_P(ComponentsTest, WhatDiffersInTwoFactorsIsNotMerged) {
  const SliceShape& shape = GetParam();
  const std::size_t factors = shape.size() + 1;
  for (std::size_t apart = 0; apart < factors; ++apart)
    for (std::size_t other = apart + 1; other < factors; ++other) {
      Random random(20);
      std::vector<Vectors> components = {random_component(shape, kSlices, random)};
      components.push_back(components[0]);
      for (std::size_t f : {apart, other})
        for (double& x : components[1][f]) x = random.normal();
      Posterior q = posterior_of(shape, kSlices, components, random);
      EXPECT_EQ(merge_parallel_components(q, kSlices, 0.95), 0) << apart << ", " << other;
      EXPECT_EQ(q.rank, 2);
    }
}

INSTANTIATE_TEST_SUITE_P(, ComponentsTest, testing::Values(SliceShape{7, 8}, SliceShape{6, 7, 5}));

// A window of values, a model of it, and a seeder that looks at what is left over.
struct Rig {
  SliceShape shape;
  ThreadTeam team{1};
  Window window;
  Posterior q;
  MeanField field;
  WindowView view;
  ResidualSeeder seeder;

  Rig(const SliceShape& shape_in, int slices, int max_rank = 3)
      : shape(shape_in),
        window(shape, slices, max_rank),
        q(shape, slices, max_rank),
        field(shape, slices, max_rank, team),
        seeder(shape, slices) {}

  void fill(const std::vector<double>& tensor, double missing, Random& random) {
    const std::size_t cells = cell_count(shape);
    for (int t = 0; t < window.capacity(); ++t) {
      Slice slice(shape);
      for (std::size_t cell = 0; cell < cells; ++cell)
        if (!random.chance(missing)) slice.set(cell, tensor[std::size_t(t) * cells + cell]);
      window.load(slice, 1.0, window.staged());
      window.commit();
    }
    for (int t = 0; t < window.size(); ++t) {
      view.slices.push_back(&window[t]);
      view.weights.push_back(1.0);
    }
    refresh();
  }
  void refresh() {
    field.refresh_rows(q);
    field.refresh_columns(q);
    field.project(q, view);
  }
};

double cosine(const std::vector<double>& x, const std::vector<double>& y) {
  double xx = 0.0, yy = 0.0, xy = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xx += x[k] * x[k];
    yy += y[k] * y[k];
    xy += x[k] * y[k];
  }
  return xy / std::sqrt(xx * yy);
}

double norm(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

class SeederTest : public testing::TestWithParam<SliceShape> {
 protected:
  static constexpr int kWindow = 15;

  std::vector<double> planted(Random& random, double strength) const {
    Random unused(1);
    const Posterior q =
        posterior_of(GetParam(), kWindow, {random_component(GetParam(), kWindow, random)}, unused);
    std::vector<double> tensor = tensor_of(q, GetParam(), kWindow);
    return times(strength / norm(tensor), tensor);
  }
};

TEST_P(SeederTest, FindsAndAddsAPlantedComponentExactly) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    const std::vector<double> truth = planted(random, 40.0);
    Rig rig(GetParam(), kWindow);
    rig.fill(truth, 0.0, random);
    rig.seeder.find(rig.q, rig.view, rig.field, 1);
    // All of the residual is of rank one: even one round has it, to rounding.
    EXPECT_NEAR(rig.seeder.strength(), 40.0, 1e-9);
    ASSERT_TRUE(rig.seeder.add_to(rig.q, rig.view.size()));
    EXPECT_EQ(rig.q.rank, 1);
    const std::vector<double> found = tensor_of(rig.q, GetParam(), kWindow);
    for (std::size_t k = 0; k < truth.size(); ++k) ASSERT_NEAR(found[k], truth[k], 1e-9);
  }
}

// What the model has already is not found again.
TEST_P(SeederTest, FindsWhatTheModelLeavesOver) {
  Random random(11);
  const std::vector<double> first = planted(random, 100.0), second = planted(random, 30.0);
  std::vector<double> sum = first;
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += second[k];
  Rig known(GetParam(), kWindow);
  known.fill(first, 0.0, random);
  known.seeder.find(known.q, known.view, known.field, 3);
  Rig rig(GetParam(), kWindow);
  ASSERT_TRUE(known.seeder.add_to(rig.q, kWindow));
  rig.fill(sum, 0.0, random);
  rig.seeder.find(rig.q, rig.view, rig.field, 3);
  EXPECT_NEAR(rig.seeder.strength(), 30.0, 1e-9);
  ASSERT_TRUE(rig.seeder.add_to(rig.q, kWindow));
  EXPECT_GT(cosine(tensor_of(rig.q, GetParam(), kWindow), sum), 1.0 - 1e-9);
}

// Well over the noise the direction is found; with holes, the strength is that of the whole.
TEST_P(SeederTest, FindsAPlantedComponentInNoiseAndUnderAMask) {
  for (double missing : {0.0, 0.1, 0.5}) {
    const int seeds = 10;
    double mean_ratio = 0.0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Random random(100 + seed);
      Rig rig(GetParam(), kWindow);
      const double strength = std::sqrt(double(cell_count(GetParam()) * kWindow));  // 1 a cell
      const std::vector<double> truth = planted(random, strength);
      std::vector<double> tensor = truth;
      for (double& x : tensor) x += 0.3 * random.normal();
      rig.fill(tensor, missing, random);
      rig.seeder.find(rig.q, rig.view, rig.field, 3);
      ASSERT_TRUE(rig.seeder.add_to(rig.q, kWindow));
      const std::vector<double> found = tensor_of(rig.q, GetParam(), kWindow);
      // A hole in every other cell is noise as large as the component; of 1500 cells and more
      // little of it is left in the direction.
      EXPECT_GT(cosine(found, truth), 0.9) << "missing " << missing << ", seed " << seed;
      mean_ratio += norm(found) / strength / seeds;
    }
    EXPECT_NEAR(mean_ratio, 1.0, 0.1) << "missing " << missing;
  }
}

TEST_P(SeederTest, NoiseIsAboutAsStrongAsItSays) {
  for (double missing : {0.0, 0.5})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(200 + seed);
      const double sigma = 3.0;
      std::vector<double> noise(cell_count(GetParam()) * kWindow);
      for (double& x : noise) x = sigma * random.normal();
      Rig rig(GetParam(), kWindow);
      rig.fill(noise, missing, random);
      rig.seeder.find(rig.q, rig.view, rig.field, 3);
      const double ratio =
          rig.seeder.strength() / rig.seeder.noise_strength(rig.view, 1.0 / (sigma * sigma));
      // The bound is sharp for large arrays and the alternation stops at a local maximum.
      EXPECT_GT(ratio, 0.5) << "missing " << missing << ", seed " << seed;
      EXPECT_LT(ratio, 1.1) << "it would be taken for a component; missing " << missing;
    }
}

TEST_P(SeederTest, OfNothingThereIsNoStrength) {
  Random random(1);
  Rig rig(GetParam(), kWindow);
  rig.fill(std::vector<double>(cell_count(GetParam()) * kWindow, 0.0), 0.3, random);
  rig.seeder.find(rig.q, rig.view, rig.field, 3);
  EXPECT_EQ(rig.seeder.strength(), 0.0);
}

TEST_P(SeederTest, AddsNothingWhenAllComponentsAreInUse) {
  Random random(12);
  Rig rig(GetParam(), kWindow, 1);
  rig.fill(planted(random, 10.0), 0.0, random);
  rig.seeder.find(rig.q, rig.view, rig.field, 1);
  EXPECT_TRUE(rig.seeder.add_to(rig.q, kWindow));
  const Posterior before = rig.q;
  EXPECT_FALSE(rig.seeder.add_to(rig.q, kWindow));
  EXPECT_EQ(rig.q.rank, 1);
  EXPECT_EQ(rig.q.time.mean, before.time.mean);
}

INSTANTIATE_TEST_SUITE_P(, SeederTest, testing::Values(SliceShape{18, 20}, SliceShape{12, 7, 5}));

}  // namespace
}  // namespace outlierd::model
