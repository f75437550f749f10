#pragma once
// What is written to the store and read back from it: plain values, nodes and metrics by name.

#include <optional>
#include <string>
#include <vector>

#include "core/detect/report.h"
#include "core/detect/totals.h"
#include "core/traffic/network.h"

namespace outlierd::store {

struct Acknowledgement {
  std::string by, note;
  EpochSeconds time = 0;
};

struct Feedback {
  std::string mark;  // "false_alarm" or "expected"
  std::string by, note;
  EpochSeconds time = 0;
};

// An empty name or shape means any; node is an origin or a destination.
struct Silence {
  std::string id, network, origin, destination, node, shape;
  EpochSeconds starts = 0, ends = 0;
  std::string author, comment;
  EpochSeconds created = 0;
  std::optional<EpochSeconds> expired;  // when an operator ended it early
};

struct AuditEntry {
  EpochSeconds time = 0;
  std::string who, action, target, details;
};

struct StoredSlice {
  Network network;  // nodes, metrics and bin width as they were then
  EpochSeconds time = 0;
  double warmup = 0.0, threshold = 0.0;
  int open_events = 0;
  ModelSummary model;
  std::vector<float> observed, expected, low, high, sparse, score;  // as in SliceReport
};

struct SeriesPoint {
  EpochSeconds time = 0;
  float observed = 0, expected = 0, low = 0, high = 0, sparse = 0, score = 0;
};

struct Series {
  std::vector<SeriesPoint> points;   // oldest first
  std::optional<EpochSeconds> next;  // there is more: from here on
  int unreadable = 0;                // bins left out because their block is damaged
};

// One slice in a line: a metric taken together, and the model.
struct SlicePoint {
  EpochSeconds time = 0;
  SliceTotal total;  // NaN too where the slice is of an outlierd that did not keep it
  double threshold = 0.0, noise_precision = 0.0;
  int open_events = 0, rank = 0, iterations = 0;
};

struct StoredAnomaly {
  std::string id;  // of network, time and cell: the same after a replay
  std::string network, origin, destination, metric;
  EpochSeconds time = 0;
  double observed = 0, expected = 0, low = 0, high = 0, sparse = 0, score = 0;
  bool up = true;
  std::string event;
};

struct StoredEventCell {
  std::string origin, destination, metric;
  double observed = 0, expected = 0, score = 0;
};

struct StoredEvent {
  std::string id, network;
  bool open = true;
  Shape shape = Shape::kSpike;
  bool up = true;
  std::string summary;
  EpochSeconds opened = 0, updated = 0;
  std::optional<EpochSeconds> closed;
  double peak_score = 0, excess = 0;
  EpochSeconds since = 0;  // at or before opened
  std::vector<std::string> origins, destinations;
  std::vector<StoredEventCell> cells;  // highest score first
  std::optional<Acknowledgement> acknowledged;
  std::optional<Feedback> feedback;
};

template <class T>
struct Page {
  std::vector<T> items;
  std::optional<std::string> next;  // cursor of the next page; nothing: this was the last
};

}  // namespace outlierd::store
