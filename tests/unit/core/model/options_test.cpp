#include "core/model/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/streaming_factorizer.h"

namespace outlierd::model {
namespace {

TEST(FactorizerOptions, DefaultsHoldTogether) { EXPECT_EQ(FactorizerOptions{}.problem(), ""); }

struct Field {
  std::string sentence;
  std::function<void(FactorizerOptions&, double)> set;
  std::vector<double> good, bad;
};
void PrintTo(const Field& field, std::ostream* out) { *out << field.sentence; }

class OptionsTest : public testing::TestWithParam<Field> {};

TEST_P(OptionsTest, SaysWhatIsOutOfItsRangeAndTakesItsEnds) {
  const Field& field = GetParam();
  for (double value : field.good) {
    FactorizerOptions options;
    field.set(options, value);
    EXPECT_EQ(options.problem(), "") << value;
  }
  for (double value : field.bad) {
    FactorizerOptions options;
    field.set(options, value);
    EXPECT_EQ(options.problem(), field.sentence) << value;
  }
}

TEST_P(OptionsTest, AFactorizerIsNotBuiltFromWhatIsOutOfRange) {
  FactorizerOptions options;
  GetParam().set(options, GetParam().bad.front());
  try {
    const StreamingFactorizer factorizer({3, 3}, options);
    FAIL() << "built";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(), GetParam().sentence);
  }
  const auto restored = StreamingFactorizer::restore({}, {3, 3}, options);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error(), GetParam().sentence);
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

Field whole(const std::string& name, int FactorizerOptions::*member, int low, int high) {
  return {name + " must be between " + std::to_string(low) + " and " + std::to_string(high),
          [member](FactorizerOptions& options, double value) { options.*member = int(value); },
          {double(low), double(high)},
          {double(low) - 1, double(high) + 1, -1.0, -2147483648.0, 2147483647.0}};
}

Field real(const std::string& sentence, double FactorizerOptions::*member, double low,
           double high) {
  return {sentence,
          [member](FactorizerOptions& options, double value) { options.*member = value; },
          {low, high},
          {low - 1e-9, high + 1e-9, -1.0, kNaN, kInfinity, -kInfinity}};
}

using O = FactorizerOptions;
INSTANTIATE_TEST_SUITE_P(
    , OptionsTest,
    testing::Values(whole("max_rank", &O::max_rank, 1, 64), whole("window", &O::window, 2, 1000),
                    whole("cold_start_slices", &O::cold_start_slices, 1, 1000),
                    whole("cold_sweeps", &O::cold_sweeps, 1, 100000),
                    whole("warm_sweeps", &O::warm_sweeps, 1, 100000),
                    whole("projection_rounds", &O::projection_rounds, 1, 1000),
                    whole("level_slices", &O::level_slices, 1, 255),
                    whole("reseed_slices", &O::reseed_slices, 1, 1000000),
                    whole("threads", &O::threads, 1, 256),
                    real("forgetting must be between 0.010000 and 1", &O::forgetting, 0.01, 1.0),
                    real("tolerance must be between 0 and 1", &O::tolerance, 0.0, 1.0),
                    real("outlier_sigmas must be between 1.100000 and 1000", &O::outlier_sigmas,
                         1.1, 1000.0)),
    [](const auto& field) {
      return field.param.sentence.substr(0, field.param.sentence.find(' '));
    });

TEST(FactorizerOptions, TheFirstProblemIsTold) {
  FactorizerOptions options;
  options.window = 0;
  options.threads = 0;
  EXPECT_EQ(options.problem(), "window must be between 2 and 1000");
}

TEST(ProblemOfShape, AShapeNeedsModesAndNodesAndNotTooManyCells) {
  EXPECT_EQ(problem_of({1}), "");
  EXPECT_EQ(problem_of({11, 11}), "");
  EXPECT_EQ(problem_of({5, 4, 3, 2}), "");
  EXPECT_EQ(problem_of({}), "a slice needs at least one mode");
  EXPECT_EQ(problem_of({0}), "every mode of a slice needs at least one node");
  EXPECT_EQ(problem_of({5, -1}), "every mode of a slice needs at least one node");
  EXPECT_EQ(problem_of({2147483647}), "");
  EXPECT_EQ(problem_of({65536, 32768}), "a slice has at most 2147483647 cells");
  EXPECT_EQ(problem_of({2147483647, 2147483647, 2147483647}),
            "a slice has at most 2147483647 cells");
}

TEST(ProblemOfShape, AFactorizerIsNotBuiltForABadShape) {
  EXPECT_THROW(StreamingFactorizer({}, {}), std::invalid_argument);
  EXPECT_THROW(StreamingFactorizer({3, 0}, {}), std::invalid_argument);
  const auto restored = StreamingFactorizer::restore({}, {3, 0}, {});
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error(), "every mode of a slice needs at least one node");
}

}  // namespace
}  // namespace outlierd::model
