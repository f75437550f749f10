#pragma once
// The simple baselines: each cell by itself, and the subspace method that looks at all together.
// Header of their makers; one file each.

#include <memory>

#include "core/baselines/predictor.h"
#include "core/baselines/value_scale.h"

namespace outlierd::baselines {

// An exponentially weighted mean a cell.
std::unique_ptr<Predictor> make_ewma(const Network& network, Scale scale, float weight = 0.3f);
// The median of the same time of day over the past week, of a cell.
std::unique_ptr<Predictor> make_seasonal(const Network& network);
// Additive Holt-Winters with a daily season a cell.
std::unique_ptr<Predictor> make_holt_winters(const Network& network);
// The cells' covariance over past days; what its leading components do not explain is anomalous
// (Lakhina, Crovella and Diot, SIGCOMM 2004).
std::unique_ptr<Predictor> make_subspace(const Network& network);

}  // namespace outlierd::baselines
