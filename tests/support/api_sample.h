#pragma once
// Reports of a small network that never was, for the tests of the API and its demonstration.

#include <cmath>
#include <limits>
#include <string>

#include "core/detect/report.h"

namespace outlierd::test {

inline Network sample_network(std::string name = "abilene", int nodes = 4) {
  Network network;
  network.name = std::move(name);
  for (int k = 0; k < nodes; ++k) network.nodes.push_back("N" + std::to_string(k));
  return network;
}

// Cell values tell where they come from: observed = 100 * origin + destination.
inline SliceReport sample_report(const Network& network, EpochSeconds time) {
  SliceReport report;
  report.time = time;
  report.warmup = 0.5;
  report.threshold = 4.5;
  const int nodes = int(network.nodes.size());
  const std::size_t cells = std::size_t(nodes) * std::size_t(nodes) * network.metrics.size();
  for (auto* part : {&report.observed, &report.expected, &report.low, &report.high, &report.sparse,
                     &report.score})
    part->resize(cells);
  for (int origin = 0; origin < nodes; ++origin)
    for (int destination = 0; destination < nodes; ++destination)
      for (int metric = 0; metric < int(network.metrics.size()); ++metric) {
        const std::size_t cell = network.cell(origin, destination, metric);
        const float value = float(100 * origin + destination) + 0.5f * float(metric);
        report.observed[cell] = value;
        report.expected[cell] = value + 1.0f;
        report.low[cell] = value - 1.0f;
        report.high[cell] = value + 2.0f;
        report.sparse[cell] = 0.25f;
        report.score[cell] = -1.5f;
      }
  report.observed[0] = std::numeric_limits<float>::quiet_NaN();
  report.model.status = "converged";
  report.model.rank = 3;
  report.model.iterations = 2;
  report.model.noise_precision = 1.25;
  report.model.component_strengths = {3.0, 2.0, 1.0};
  return report;
}

inline Event sample_event(std::string id, EpochSeconds opened, int cells = 2) {
  Event event;
  event.id = std::move(id);
  event.shape = Shape::kDdos;
  event.summary = "2 origins send 4.1x the expected traffic to N1";
  event.since = event.opened = event.updated = opened;
  event.peak_score = 12.4;
  event.excess = 5120.0;
  event.origins = {0, 2};
  event.destinations = {1};
  for (int k = 0; k < cells; ++k) event.cells.push_back({2 * (k % 2), 1, 0, 912.0, 201.3, 9.1});
  return event;
}

inline Anomaly sample_anomaly(EpochSeconds time, int origin, int destination, double score) {
  Anomaly anomaly;
  anomaly.time = time;
  anomaly.origin = origin;
  anomaly.destination = destination;
  anomaly.observed = 912.0;
  anomaly.expected = 201.3;
  anomaly.low = 120.1;
  anomaly.high = 330.9;
  anomaly.sparse = 694.0;
  anomaly.score = score;
  anomaly.event = "e1";
  return anomaly;
}

}  // namespace outlierd::test
