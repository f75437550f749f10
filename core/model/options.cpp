#include "core/model/options.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/model/kernels.h"

namespace outlierd::model {

std::string FactorizerOptions::problem() const {
  const auto between = [](const char* name, double value, double low, double high) -> std::string {
    if (low <= value && value <= high) return {};  // NaN fails too
    const auto text = [](double x) {
      return x == std::floor(x) ? std::to_string(std::int64_t(x)) : std::to_string(x);
    };
    return std::string(name) + " must be between " + text(low) + " and " + text(high);
  };
  for (const std::string& found : {
           between("max_rank", max_rank, 1, kMaxRank),
           between("window", window, 2, 1000),
           between("forgetting", forgetting, 0.01, 1.0),
           between("cold_start_slices", cold_start_slices, 1, 1000),
           between("cold_sweeps", cold_sweeps, 1, 100000),
           between("warm_sweeps", warm_sweeps, 1, 100000),
           between("tolerance", tolerance, 0.0, 1.0),
           between("projection_rounds", projection_rounds, 1, 1000),
           between("outlier_sigmas", outlier_sigmas, 1.1, 1000.0),
           between("level_slices", level_slices, 1, 255),
           between("reseed_slices", reseed_slices, 1, 1000000),
           between("threads", threads, 1, 256),
       })
    if (!found.empty()) return found;
  return {};
}

std::string problem_of(const SliceShape& shape) {
  constexpr double kMostCells = std::numeric_limits<std::int32_t>::max();
  if (shape.empty()) return "a slice needs at least one mode";
  double cells = 1.0;
  for (int size : shape) {
    if (size < 1) return "every mode of a slice needs at least one node";
    cells *= size;
  }
  if (cells > kMostCells) return "a slice has at most 2147483647 cells";
  return {};
}

}  // namespace outlierd::model
