#pragma once
// What is watched: a network's name, its nodes, its bin width, the metrics. A slice of it is
// origin x destination, with a third mode where there are several metrics.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/traffic/slice.h"

namespace outlierd {

using EpochSeconds = std::int64_t;  // the start of a bin, since 1970-01-01T00:00:00Z

struct Network {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> metrics = {"bytes"};
  int bin_seconds = 300;

  SliceShape shape() const {
    const int n = int(nodes.size()), m = int(metrics.size());
    return m == 1 ? SliceShape{n, n} : SliceShape{n, n, m};
  }
  std::size_t cell(int origin, int destination, int metric = 0) const {
    return (std::size_t(origin) * nodes.size() + std::size_t(destination)) * metrics.size() +
           std::size_t(metric);
  }
  bool operator==(const Network&) const = default;
};

}  // namespace outlierd
