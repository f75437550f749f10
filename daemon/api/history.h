#pragma once
// What lies further back than the live state: the port to the store, and the plain records that
// cross it. Nodes and metrics are names here, since a network's nodes change over the years.
//
// Methods return at once; the callback runs later, once, on the net thread. Lists are sorted,
// newest first: events by (opened, id), anomalies by (time, id), both descending; a list asked with
// `after` begins behind that place.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/detect/report.h"
#include "core/detect/totals.h"

namespace outlierd::api {

struct Acknowledgement {
  std::string by, comment;
  EpochSeconds time = 0;
  bool operator==(const Acknowledgement&) const = default;
};

// What an operator says of an event: "false_alarm" or "expected".
struct Feedback {
  std::string mark, by, comment;
  EpochSeconds time = 0;
  bool operator==(const Feedback&) const = default;
};

struct CellRecord {
  std::string origin, destination, metric;
  double observed = 0.0, expected = 0.0, score = 0.0;
};

struct EventRecord {
  std::string id, network;
  bool open = true;
  Shape shape = Shape::kSpike;
  bool up = true;
  std::string summary;
  EpochSeconds opened = 0, updated = 0;
  std::optional<EpochSeconds> closed;
  double peak_score = 0.0, excess = 0.0;
  std::vector<std::string> origins, destinations;
  std::vector<CellRecord> cells;
  std::optional<Acknowledgement> acknowledged;
  std::optional<Feedback> feedback = {};
  EpochSeconds since = 0;  // when it was first suspicious; at or before opened
  bool pending = false;    // suspicious, no alert yet; then open is false
};

struct AnomalyRecord {
  std::string id, network;
  EpochSeconds time = 0;
  std::string metric, origin, destination;
  double observed = 0.0, expected = 0.0, low = 0.0, high = 0.0, sparse = 0.0, score = 0.0;
  bool up = true;
  std::string event;  // empty: none
};

// Matches an event when every condition that is set does: node is any origin or destination.
struct Silence {
  std::string id;
  std::optional<std::string> network, origin, destination, node;
  std::optional<Shape> shape;
  EpochSeconds starts = 0, ends = 0;  // ends is exclusive
  std::string comment, created_by;
  EpochSeconds created = 0;
};

// One slice in the unit of the data, origin by origin; NaN: not observed or not predicted.
struct MatrixRecord {
  EpochSeconds time = 0;
  std::vector<std::string> nodes;
  std::vector<float> observed, expected, low, high, sparse, score;  // empty: not kept
};

struct SeriesPoint {
  EpochSeconds time = 0;
  float observed = 0, expected = 0, low = 0, high = 0, score = 0;  // NaN as in MatrixRecord
};

// One slice in a line: a metric taken together, and the model.
struct SlicePoint {
  EpochSeconds time = 0;
  SliceTotal total;
  double threshold = 0.0, noise_precision = 0.0;
  int open_events = 0, rank = 0, iterations = 0;
  double seconds = std::numeric_limits<double>::quiet_NaN();  // of work; NaN: not known any more
};

struct AuditEntry {
  EpochSeconds time = 0;
  std::string actor, action, subject, detail;  // action: acknowledge, silence, expire, reload
};

struct Place {  // of an item in a list that is sorted newest first
  EpochSeconds time = 0;
  std::string id;
  auto operator<=>(const Place&) const = default;
};

// from is inclusive, to exclusive; both of when an event opened or an anomaly was.
struct TimeRange {
  EpochSeconds from = std::numeric_limits<EpochSeconds>::min();
  EpochSeconds to = std::numeric_limits<EpochSeconds>::max();
};

struct EventQuery {
  std::optional<std::string> network;
  std::optional<bool> open;  // pending events are of neither kind, and only in the live state
  std::optional<Shape> shape;
  TimeRange range;
  std::optional<Place> after;
  std::size_t limit = 100;
};

struct AnomalyQuery {
  std::optional<std::string> network, metric, origin, destination;
  TimeRange range;
  double min_score = 0.0;
  std::optional<Place> after;
  std::size_t limit = 100;
};

struct SeriesQuery {
  std::string network, metric, origin, destination;
  TimeRange range;
};

struct SlicesQuery {
  std::string network, metric;
  TimeRange range;
};

// Reason why the store could not do it; the API answers 503 with it.
template <class T>
using Done = std::function<void(tl::expected<T, std::string>)>;

class History {
 public:
  virtual ~History() = default;

  // The slice at that bin; nothing when it is not kept.
  virtual void matrix(const std::string& network, EpochSeconds time, const std::string& metric,
                      Done<std::optional<MatrixRecord>> done) = 0;
  virtual void series(const SeriesQuery& query, Done<std::vector<SeriesPoint>> done) = 0;
  virtual void slices(const SlicesQuery& query, Done<std::vector<SlicePoint>> done) = 0;
  virtual void anomalies(const AnomalyQuery& query, Done<std::vector<AnomalyRecord>> done) = 0;
  virtual void events(const EventQuery& query, Done<std::vector<EventRecord>> done) = 0;
  virtual void event(const std::string& id, Done<std::optional<EventRecord>> done) = 0;

  // What an operator did is kept together with its audit entry, or not at all.
  virtual void acknowledge(const std::string& event, const Acknowledgement& acknowledgement,
                           const AuditEntry& entry, Done<bool> done) = 0;  // false: no such event
  // An empty mark takes it back.
  virtual void mark(const std::string& event, const Feedback& feedback, const AuditEntry& entry,
                    Done<bool> done) = 0;
  virtual void silences(Done<std::vector<Silence>> done) = 0;  // expired ones too
  virtual void add_silence(const Silence& silence, const AuditEntry& entry, Done<bool> done) = 0;
  // Sets its end to entry.time. False: no such silence, or it had ended.
  virtual void expire_silence(const std::string& id, const AuditEntry& entry, Done<bool> done) = 0;
  virtual void audit(std::size_t limit, Done<std::vector<AuditEntry>> done) = 0;  // newest first
  virtual void add_audit(const AuditEntry& entry, Done<bool> done) = 0;
};

}  // namespace outlierd::api
