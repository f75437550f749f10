// Streams whose truth is known, 50 seeds each: the rank, the outliers and the noise are found.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "core/model/streaming_factorizer.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

constexpr int kSeeds = 50;
constexpr int kSlices = 60;

struct Setting {
  int rank;
  double outliers, missing;
};
std::string name_of_setting(const Setting& setting) {
  return "Rank" + std::to_string(setting.rank) + (setting.outliers > 0 ? "Outliers" : "") +
         (setting.missing > 0 ? "HalfMissing" : "");
}
void PrintTo(const Setting& setting, std::ostream* out) { *out << name_of_setting(setting); }

// What the factorizer made of the streams of one setting, all seeds together.
struct Score {
  std::map<int, int> ranks;          // how often each was found
  std::vector<double> noise_ratios;  // precision found / true precision
  double hits = 0, false_alarms = 0, misses = 0;

  double exact(int rank) const {
    const auto found = ranks.find(rank);
    return found == ranks.end() ? 0.0 : double(found->second) / kSeeds;
  }
  double f1() const { return 2.0 * hits / (2.0 * hits + false_alarms + misses); }
  double noise_mean() const {
    double sum = 0.0;
    for (double ratio : noise_ratios) sum += ratio;
    return sum / double(noise_ratios.size());
  }
  double noise_within(double share) const {
    double count = 0.0;
    for (double ratio : noise_ratios) count += std::abs(ratio - 1.0) <= share;
    return count / double(noise_ratios.size());
  }
};

Score score_of(const Setting& setting) {
  Score score;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto stream = test::synthetic_stream({.shape = {20, 20},
                                                .slices = kSlices,
                                                .rank = setting.rank,
                                                .noise_db = -20.0,
                                                .outlier_share = setting.outliers,
                                                .outlier_sigmas = 10.0,
                                                .missing_share = setting.missing,
                                                .seed = seed * 1000 + std::uint64_t(setting.rank)});
    StreamingFactorizer factorizer({20, 20}, {});
    Learned learned;
    for (int t = 0; t < kSlices; ++t) {
      learned = factorizer.update(stream.slices[t]);
      if (factorizer.projection().status == SliceStatus::kWarmingUp) continue;
      for (std::size_t cell = 0; cell < stream.outlier[t].size(); ++cell) {
        if (!stream.slices[t].observed[cell]) continue;
        const bool found = factorizer.projection().sparse[cell] != 0.0;
        const bool planted = stream.outlier[t][cell] != 0;
        score.hits += found && planted;
        score.false_alarms += found && !planted;
        score.misses += !found && planted;
      }
    }
    ++score.ranks[learned.rank];
    score.noise_ratios.push_back(learned.noise_precision * stream.sigma * stream.sigma);
  }
  return score;
}

class SyntheticTruth : public testing::TestWithParam<Setting> {};

TEST_P(SyntheticTruth, IsFound) {
  const Setting& setting = GetParam();
  const Score score = score_of(setting);
  std::cout << name_of_setting(setting) << ": rank exact " << 100.0 * score.exact(setting.rank)
            << "% (";
  for (const auto& [rank, count] : score.ranks) std::cout << ' ' << rank << ": " << count;
  std::cout << " ), noise precision " << score.noise_mean() << " of the true one, within 15% in "
            << 100.0 * score.noise_within(0.15) << "%";
  if (setting.outliers > 0) std::cout << ", F1 " << score.f1();
  std::cout << '\n';
  RecordProperty("rank_exact", std::to_string(score.exact(setting.rank)));
  RecordProperty("noise_precision_ratio", std::to_string(score.noise_mean()));
  RecordProperty("f1", std::to_string(score.f1()));

  // The figures the model is held to (docs/model.md).
  EXPECT_GE(score.exact(setting.rank), 0.9);
  EXPECT_NEAR(score.noise_mean(), 1.0, 0.15);
  EXPECT_GE(score.noise_within(0.15), 0.95);
  if (setting.outliers > 0) {
    EXPECT_GE(score.f1(), 0.97);
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (int rank : {2, 4, 6, 8})
    for (double outliers : {0.0, 0.05})
      for (double missing : {0.0, 0.5}) all.push_back({rank, outliers, missing});
  all.push_back({5, 0.05, 0.5});
  return all;
}

INSTANTIATE_TEST_SUITE_P(, SyntheticTruth, testing::ValuesIn(settings()),
                         [](const auto& setting) { return name_of_setting(setting.param); });

}  // namespace
}  // namespace outlierd::model
