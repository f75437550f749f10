#include "core/model/evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/model_bench.h"
#include "tests/support/naive_model.h"
#include "tests/support/random.h"

namespace outlierd::model {
namespace {

using test::ModelBench;
using test::NaiveModel;
using test::Random;

// Sums of a few hundred terms of either sign, none a thousand times larger than the whole.
double slack(double bound) { return 1e-10 * (1.0 + std::abs(bound)); }

// The sparse part of the naive model in the layout of core.
struct Belief {
  std::vector<SparseCell> cells;
  std::vector<double> gamma;

  Belief(const NaiveModel& naive, const ModelBench& bench)
      : cells(bench.window.layout().padded_cells()), gamma(cells.size(), 0.0) {
    for (int cell = 0; cell < naive.cells(); ++cell) {
      if (!naive.window.back().mask[cell]) continue;
      cells[bench.place(cell)] = {naive.S[cell], naive.sigma2[cell]};
      gamma[bench.place(cell)] = naive.gamma[cell];
    }
  }
};

struct Setting {
  std::string name;
  SliceShape shape;
  std::vector<double> missing;
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class EvidenceTest : public testing::TestWithParam<Setting> {};

TEST_P(EvidenceTest, IsTheBoundOfTheNaiveModel) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (bool sparse : {false, true}) {
      Random random(seed);
      NaiveModel naive = test::random_model(GetParam().shape, 3, 0.9, GetParam().missing, random);
      if (sparse) add_random_sparse_part(naive, random);
      const ModelBench bench(naive);
      const double expected = naive.evidence_bound();
      double bound = 0.0;
      if (sparse) {
        const Belief belief(naive, bench);
        bound = evidence_bound(bench.q, bench.view, bench.field,
                               {belief.cells, belief.gamma, naive.a0, naive.b0});
      } else {
        bound = evidence_bound(bench.q, bench.view, bench.field, {});
      }
      EXPECT_NEAR(bound, expected, slack(expected)) << "seed " << seed << ", sparse " << sparse;
    }
}

// Other components and other slices than those in use have no say.
TEST_P(EvidenceTest, DependsOnWhatIsInUseOnly) {
  Random random(6);
  const NaiveModel naive =
      test::random_model(GetParam().shape, 2, 0.95, GetParam().missing, random);
  ModelBench bench(naive);
  const double bound = evidence_bound(bench.q, bench.view, bench.field, {});
  bench.q.lambda[2] = 17.0;
  bench.q.time.mean_of(naive.slices())[0] = 1e6;
  EXPECT_EQ(evidence_bound(bench.q, bench.view, bench.field, {}), bound);
}

INSTANTIATE_TEST_SUITE_P(, EvidenceTest,
                         testing::Values(Setting{"OneWay", {6}, {0, 0.3, 0, 0.1}},
                                         Setting{"TwoWayFull", {5, 7}, {0, 0, 0, 0}},
                                         Setting{"TwoWayMasked", {5, 7}, {0, 0.1, 0.6, 0, 0.1}},
                                         Setting{"ThreeWayFull", {4, 5, 3}, {0, 0, 0}},
                                         Setting{"ThreeWayMasked", {4, 5, 3}, {0, 0.6, 0.1}},
                                         Setting{"FourWay", {3, 4, 2, 2}, {0, 0.1, 0.6, 0, 0.1}}),
                         [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace outlierd::model
