#pragma once
// What the pipeline says of one slice: every cell scored, the anomalies, and what became of events.
// Plain values; nodes and metrics are indices into the Network they belong to.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd {

enum class Shape { kSpike, kDrop, kDdos, kScan, kOutage, kShift, kLevel, kNetwork };
const char* name_of(Shape shape);  // "spike", "drop", ...
std::optional<Shape> shape_named(std::string_view name);

struct Anomaly {  // one flagged cell at one bin
  EpochSeconds time = 0;
  int origin = 0, destination = 0, metric = 0;
  double observed = 0.0, expected = 0.0, low = 0.0, high = 0.0;
  double sparse = 0.0;  // never zero
  double score = 0.0;   // normal-sigma equivalents, not negative
  bool up = true;
  std::string event;  // id of the event it belongs to; empty only while events warm up
};

struct EventCell {
  int origin = 0, destination = 0, metric = 0;
  double observed = 0.0, expected = 0.0;  // at the bin of its peak score
  double score = 0.0;                     // the peak
};

struct Event {
  std::string id;  // hash of network, opening bin and the sorted cells flagged in it
  bool open = true;
  bool pending = false;  // suspicious, under the threshold: no alert yet; then open is false
  Shape shape = Shape::kSpike;
  bool up = true;
  std::string summary;     // one line in plain words, with the nodes' names
  EpochSeconds since = 0;  // when it was first suspicious: at or before it was opened
  EpochSeconds opened = 0, updated = 0;
  std::optional<EpochSeconds> closed;
  double peak_score = 0.0;
  // Sum over bins of observed - expected, of the cells that go its way; in the unit of the data.
  double excess = 0.0;
  std::vector<int> origins, destinations;
  std::vector<EventCell> cells;  // highest score first; at most kMostEventCells
};
inline constexpr std::size_t kMostEventCells = 1000;
inline constexpr std::size_t kMostPending = 100;  // events of one network

enum class EventChange { kOpened, kUpdated, kClosed };
struct EventUpdate {
  EventChange change = EventChange::kOpened;
  Event event;
};

// One pattern that all pairs share, and the nodes that take part in it most, greatest share first.
struct ModelComponent {
  struct Node {
    int node = 0;
    double loading = 0.0;  // of a vector of length one over all nodes; its sign is relative
  };
  double strength = 0.0;  // as in component_strengths
  std::vector<Node> origins, destinations;
};
inline constexpr std::size_t kMostComponentNodes = 8;

struct ModelSummary {
  std::string status = "warming_up";  // of the last slice: converged, iteration_limit, ...
  int rank = 0, iterations = 0;
  double noise_precision = 0.0;
  double evidence_bound = std::numeric_limits<double>::quiet_NaN();  // NaN: not computed
  std::vector<double> component_strengths;                           // strongest first
  std::vector<ModelComponent> components;  // the same, with their nodes; not kept by the store
};

struct SliceReport {
  EpochSeconds time = 0;
  double warmup = 0.0;     // 0 to 1: how much of its past the detector has seen
  double threshold = 0.0;  // of |score|, in force for this slice
  // Per cell, as Slice is laid out, in the unit of the data. NaN: not observed, or not predicted
  // (yet). observed lies outside [low, high] exactly when the cell by itself is flagged.
  std::vector<float> observed, expected, low, high, sparse;
  std::vector<float> score;  // its sign is the direction
  std::vector<Anomaly> anomalies;
  std::vector<EventUpdate> events;
  std::vector<Event> pending;  // all there are, oldest first; opened is since
  int open_events = 0;
  ModelSummary model;
};

}  // namespace outlierd
