#pragma once
// A simulated network for tests of the detector: a gravity model with a daily swing and noise, and
// incidents put into it on demand. Seeded; the same on every machine.

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/pipeline.h"
#include "tests/support/random.h"

namespace outlierd::test {

inline Network small_network(int nodes = 8, int metrics = 1) {
  Network network;
  network.name = "test";
  for (int i = 0; i < nodes; ++i) network.nodes.push_back("N" + std::to_string(i));
  for (int m = 1; m < metrics; ++m) network.metrics.push_back("metric" + std::to_string(m));
  return network;
}

class SimulatedTraffic {
 public:
  SimulatedTraffic(Network network, std::uint64_t seed, double scale = 1.0)
      : network_(std::move(network)), random_(seed), scale_(scale) {
    for (std::size_t i = 0; i < network_.nodes.size(); ++i)
      weight_.push_back(1.0 + 3.0 * random_.uniform());
  }

  static constexpr EpochSeconds kStart = 1078099200;  // 2004-03-01T00:00:00Z
  EpochSeconds time(int bin) const { return kStart + EpochSeconds{network_.bin_seconds} * bin; }

  // The next bin; self-pairs carry nothing.
  Slice next() {
    Slice slice(network_.shape());
    const double day = 2.0 * std::numbers::pi * double(bin_) * network_.bin_seconds / 86400.0;
    const double swing = 1.0 + 0.3 * std::sin(day);
    const int nodes = int(network_.nodes.size()), metrics = int(network_.metrics.size());
    for (int from = 0; from < nodes; ++from)
      for (int to = 0; to < nodes; ++to)
        for (int metric = 0; metric < metrics; ++metric) {
          const double mean = from == to ? 0.0 : 10.0 * weight_[from] * weight_[to] * (metric + 1);
          const double noise = std::exp(0.1 * random_.normal());
          slice.set(network_.cell(from, to, metric), scale_ * mean * swing * noise);
        }
    ++bin_;
    return slice;
  }

 private:
  Network network_;
  Random random_;
  double scale_;
  std::vector<double> weight_;
  int bin_ = 0;
};

}  // namespace outlierd::test
