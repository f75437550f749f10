#pragma once
// Networks and reports that look like real ones, for the tests of the store.

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/detect/report.h"
#include "daemon/store/error.h"
#include "daemon/store/store.h"
#include "tests/support/random.h"

namespace outlierd::test {

inline Network network_of(const std::string& name, int nodes, int metrics = 1) {
  Network network;
  network.name = name;
  for (int i = 0; i < nodes; ++i) network.nodes.push_back("N" + std::to_string(i));
  for (int m = 1; m < metrics; ++m) network.metrics.push_back("metric" + std::to_string(m));
  return network;
}

// Heavy-tailed values with a band; some cells not observed, few with a sparse part.
inline SliceReport report_of(const Network& network, EpochSeconds time, std::uint64_t seed = 1) {
  Random random(seed * 1'000'003 + std::uint64_t(time));
  SliceReport report;
  report.time = time;
  report.warmup = 1.0;
  report.threshold = 5.5;
  report.model.status = "converged";
  report.model.rank = 4;
  report.model.iterations = 7;
  report.model.noise_precision = 12.5;
  report.model.component_strengths = {3.0, 2.0, 1.0};
  const std::size_t cells = cell_count(network.shape());
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const bool hole = random.chance(0.02);
    const double expected = 1e6 * std::exp(1.5 * random.normal());
    const double score = random.normal();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    report.observed.push_back(float(hole ? nan : expected * std::exp(0.1 * score)));
    report.expected.push_back(float(expected));
    report.low.push_back(float(expected * 0.6));
    report.high.push_back(float(expected * 1.6));
    report.sparse.push_back(float(random.chance(0.005) ? 0.4 * expected : 0.0));
    report.score.push_back(float(hole ? nan : score));
  }
  return report;
}

inline Anomaly anomaly_at(EpochSeconds time, int origin, int destination, double score,
                          const std::string& event = "") {
  Anomaly anomaly;
  anomaly.time = time;
  anomaly.origin = origin;
  anomaly.destination = destination;
  anomaly.observed = 900.0;
  anomaly.expected = 200.0;
  anomaly.low = 100.0;
  anomaly.high = 300.0;
  anomaly.sparse = 700.0;
  anomaly.score = score;
  anomaly.event = event;
  return anomaly;
}

inline Event event_of(const std::string& id, EpochSeconds opened, EpochSeconds updated) {
  Event event;
  event.id = id;
  event.shape = Shape::kDdos;
  event.summary = "2 origins send 4.1x the expected traffic to N2";
  event.opened = opened;
  event.since = opened - 60;
  event.updated = updated;
  event.peak_score = 12.4;
  event.excess = 5120.0;
  event.origins = {0, 1};
  event.destinations = {2};
  event.cells = {{0, 2, 0, 912.0, 201.0, 12.4}, {1, 2, 0, 500.0, 100.0, 9.0}};
  return event;
}

template <class T>
T must(store::Outcome<T> outcome) {
  if (!outcome) throw std::runtime_error(outcome.error().message);
  return std::move(*outcome);
}
inline void must(store::Outcome<void> outcome) {
  if (!outcome) throw std::runtime_error(outcome.error().message);
}

inline void write_one(store::Store& store, const Network& network, const SliceReport& report) {
  const store::SliceToStore item{&network, &report};
  must(store.write(std::span(&item, 1)));
}

}  // namespace outlierd::test
