#pragma once
// The paper's experiments: how well factorizations follow a week of Abilene, all observed and half
// observed, in several units; and a moving phantom of which 15 % is seen. Each piece is independent
// and seeded; the caller runs them in parallel and keeps what is finished.

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/baselines/factorization.h"
#include "core/baselines/method.h"
#include "core/evaluate/phantom.h"
#include "daemon/ctl/traffic_table.h"

namespace outlierd::ctl {

// |X - L| / |X| of each slice; NaN where the method says nothing.
struct SliceErrors {
  std::vector<double> all;     // over all cells
  std::vector<double> kept;    // over those without a sparse part
  std::vector<double> hidden;  // over those not observed
  std::vector<double> rank;
  double microseconds = 0.0;  // a slice, of one core
};
std::string errors_json(const SliceErrors& errors);
SliceErrors errors_of_json(const std::string& json);

struct WeekExperiment {
  std::size_t slices = 300;
  bool half = false;        // only about half of the cells are shown
  double unit = 1.0;        // that the data are multiplied with
  bool root = false;        // the factorization sees x^(1/4), as outlierd's detector has it
  bool transposed = false;  // destination first, as the paper's authors have it
};

using MakeFactorization = std::function<std::unique_ptr<baselines::Factorization>(SliceShape)>;

SliceErrors run_week(const TrafficTable& week, const WeekExperiment& experiment,
                     const MakeFactorization& make);
// What a method expects of the cells that it is not shown.
tl::expected<SliceErrors, std::string> run_week(const TrafficTable& week,
                                                const WeekExperiment& experiment,
                                                const std::string& method);
// Whether cell is shown in slice t of a half-observed week: the same for every method.
bool is_shown(std::size_t slice, std::size_t cell);
// The unit in which the standard deviation of the first slices is 1.
double unit_of_deviations(const TrafficTable& week, std::size_t slices);

struct PhantomRun {
  std::vector<double> errors;   // |X - L| / |X| of each frame, all pixels, X without noise
  std::vector<double> picture;  // the last frame
  double microseconds = 0.0;
};
std::string phantom_json(const PhantomRun& run);
PhantomRun phantom_of_json(const std::string& json);
// The pictures are multiplied with `unit` for the method.
PhantomRun run_phantom(const evaluate::PhantomOptions& options, int frames, double unit,
                       const MakeFactorization& make);

}  // namespace outlierd::ctl
