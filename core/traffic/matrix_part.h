#pragma once
// What one collector says of one bin: some or all cells of one metric. Parts of a bin add up to its
// slice (bin_assembler.h). A plain value; nodes are indices into the Network it is for.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd {

struct MatrixPart {
  EpochSeconds time = 0;
  int metric = 0;
  std::string source;                     // empty: not said
  std::optional<std::uint64_t> sequence;  // with it the part replaces an earlier one
  bool complete = false;                  // the source has no more for this bin

  // Either every pair of nodes, origin by origin (NaN: not observed), with `pairs` empty ...
  std::vector<double> values;
  // ... or values[k] of pair pairs[k] = origin * nodes + destination; the others are rest.
  std::vector<std::uint32_t> pairs;
  bool sparse = false;
  bool rest_is_zero = false;  // else unobserved

  static constexpr double kNotObserved = std::numeric_limits<double>::quiet_NaN();

  bool operator==(const MatrixPart&) const = delete;  // NaN is not equal to itself
};

}  // namespace outlierd
