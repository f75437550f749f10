#pragma once
// Questions to the store, on a read-only connection of its own: never waits for the writer and
// never makes it wait. Sees what was committed before the question.
//
// Times are [from, to). Lists give at most kMostItems a page, series at most kMostPoints. When the
// database was set aside and begun anew, the next question goes to the new one.
//
// Not thread-safe; one object, one thread at a time.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/store/cell_codec.h"
#include "daemon/store/database.h"
#include "daemon/store/error.h"
#include "daemon/store/layouts.h"
#include "daemon/store/records.h"

namespace outlierd::store {

inline constexpr int kMostItems = 1000;
inline constexpr int kMostPoints = 20000;

struct PageRequest {
  int limit = 100;
  std::string cursor = {};  // of the page before; empty: the first
};

struct SeriesRequest {
  std::string network = {}, origin = {}, destination = {}, metric = "bytes";
  std::optional<EpochSeconds> from = {}, to = {};
  int limit = kMostPoints;
};

struct AnomalyFilter {
  std::optional<std::string> network = {}, origin = {}, destination = {};
  std::optional<EpochSeconds> from = {}, to = {};
  double min_score = 0.0;
};

// from, to: events that lasted into that time, open ones until now.
struct EventFilter {
  std::optional<std::string> network = {};
  std::optional<bool> open = {};
  std::optional<Shape> shape = {};
  std::optional<EpochSeconds> from = {}, to = {};
};

struct HistoryBounds {
  EpochSeconds oldest = 0, newest = 0;
};

class Reader {
 public:
  static Outcome<Reader> open(const std::filesystem::path& path);

  // kNotFound: no slice at that time (none at all, if no time is given).
  Outcome<StoredSlice> matrix(const std::string& network, std::optional<EpochSeconds> time);
  // Bins in which the network had no such cell are left out. kNotFound: it never had.
  Outcome<Series> series(const SeriesRequest& request);
  // Every slice from the oldest on, at most kMostPoints; totals where it had that metric.
  Outcome<std::vector<SlicePoint>> slices(const std::string& network, const std::string& metric,
                                          EpochSeconds from, EpochSeconds to);
  Outcome<Page<StoredAnomaly>> anomalies(const AnomalyFilter& filter, const PageRequest& page);
  Outcome<Page<StoredEvent>> events(const EventFilter& filter, const PageRequest& page);
  Outcome<StoredEvent> event(const std::string& id);
  // In force or still to come at that time; without a time all there ever were. Newest first.
  Outcome<Page<Silence>> silences(std::optional<EpochSeconds> at, const PageRequest& page);
  Outcome<Page<AuditEntry>> audit(const PageRequest& page);  // newest first
  Outcome<std::optional<HistoryBounds>> bounds(const std::string& network);
  Outcome<std::vector<std::string>> networks();  // that there is history of

 private:
  Reader(Database database, std::filesystem::path path, std::uint64_t file_identity)
      : database_(std::move(database)), path_(std::move(path)), file_identity_(file_identity) {}
  Outcome<void> refresh();
  std::optional<std::int64_t> id_of(const char* table, const std::string& name);
  const Layout* layout(std::int64_t id);
  bool ever_had(std::int64_t network, const std::string& name, bool is_metric);
  Outcome<void> read_cells(std::int64_t slice, const Layout& layout, StoredSlice& out);
  struct CellPlace {
    const Layout* layout = nullptr;
    int origin = -1, destination = -1, metric = -1;
    bool known() const { return layout && origin >= 0 && destination >= 0 && metric >= 0; }
  };
  Outcome<std::int64_t> network_of(const SeriesRequest& request);
  CellPlace place_in(std::int64_t layout_id, const SeriesRequest& request);
  bool read_point(std::int64_t slice, const CellPlace& place, SeriesPoint& out);
  StoredEvent event_of(const Query& row);
  template <class T>
  Outcome<T> finish(T value) {
    if (auto error = database_.take_error()) return tl::unexpected(std::move(*error));
    return value;
  }

  Database database_;
  std::filesystem::path path_;
  std::uint64_t file_identity_;  // of the file that is open
  CellCodec codec_;
  std::unordered_map<std::int64_t, Layout> layouts_;
};

}  // namespace outlierd::store
