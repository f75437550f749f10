#include "daemon/store/reader.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>

#include "daemon/store/file.h"
#include "daemon/store/record_codec.h"
#include "daemon/store/schema.h"

namespace outlierd::store {
namespace {

constexpr int kBusyMilliseconds = 1000;
constexpr std::size_t kMostLayouts = 256;  // remembered

Outcome<std::uint64_t> identity_of(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return disk_failure("open", path);
  return std::uint64_t(status.st_ino) ^ std::uint64_t(status.st_dev) << 48;
}

Outcome<Database> open_database(const std::filesystem::path& path) {
  auto database = Database::open(path, Database::Access::kReadOnly);
  if (!database) return database;
  sqlite3_busy_timeout(database->handle(), kBusyMilliseconds);
  database->execute("PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;");
  const auto version = schema_version(*database);
  if (!version) return tl::unexpected(version.error());
  if (*version != kSchemaVersion)
    return failure(StoreError::Kind::kInvalid,
                   path.string() + " has schema " + std::to_string(*version) +
                       "; it is brought up to date when the store opens it");
  return database;
}

int place_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : int(found - names.begin());
}

}  // namespace

Outcome<Reader> Reader::open(const std::filesystem::path& path) {
  const auto identity = identity_of(path);
  if (!identity) return tl::unexpected(identity.error());
  auto database = open_database(path);
  if (!database) return tl::unexpected(database.error());
  return Reader(std::move(*database), path, *identity);
}

Outcome<void> Reader::refresh() {
  const auto identity = identity_of(path_);
  if (!identity) return tl::unexpected(identity.error());
  if (*identity == file_identity_) return {};
  auto database = open_database(path_);
  if (!database) return tl::unexpected(database.error());
  database_ = std::move(*database);
  file_identity_ = *identity;
  layouts_.clear();
  return {};
}

std::optional<std::int64_t> Reader::id_of(const char* table, const std::string& name) {
  Query row(database_, std::string("SELECT id FROM ") + table + " WHERE name = ?");
  if (!row.bind(name).step()) return std::nullopt;
  return row.integer(0);
}

const Layout* Reader::layout(std::int64_t id) {
  if (const auto known = layouts_.find(id); known != layouts_.end()) return &known->second;
  auto read = read_layout(database_, id);
  if (!read) return nullptr;
  if (layouts_.size() >= kMostLayouts) layouts_.clear();
  return &layouts_.insert_or_assign(id, std::move(*read)).first->second;
}

bool Reader::ever_had(std::int64_t network, const std::string& name, bool is_metric) {
  Query row(database_,
            "SELECT 1 FROM layouts l JOIN layout_names p ON p.layout = l.id "
            "JOIN names n ON n.id = p.name WHERE l.network = ? AND p.is_metric = ? AND n.name = ?");
  return row.bind(network).bind(is_metric).bind(name).step();
}

Outcome<void> Reader::read_cells(std::int64_t slice, const Layout& layout, StoredSlice& out) {
  const std::array<std::vector<float>*, kCellValues> arrays = {
      &out.observed, &out.expected, &out.low, &out.high, &out.sparse, &out.score};
  for (auto* values : arrays) values->reserve(layout.row_cells() * layout.network.nodes.size());
  Query row(database_, "SELECT data FROM blocks WHERE id = ?");
  for (int block = 0; block < layout.blocks(); ++block) {
    const std::size_t cells =
        std::size_t(layout.last_row(block) - layout.first_row(block)) * layout.row_cells();
    row.again();
    const bool found = row.bind(block_id(slice, block)).step();
    if (auto error = database_.take_error()) return tl::unexpected(*error);
    if (auto good = codec_.decode(found ? row.blob(0) : std::span<const std::byte>(), cells); !good)
      return good;
    for (std::size_t which = 0; which < arrays.size(); ++which)
      for (std::size_t cell = 0; cell < cells; ++cell)
        arrays[which]->push_back(codec_.value(CellValue(which), cell));
  }
  return {};
}

Outcome<StoredSlice> Reader::matrix(const std::string& network, std::optional<EpochSeconds> time) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  const Transaction moment(database_, false);
  const auto id = id_of("networks", network);
  const std::string columns =
      "SELECT id, time, layout, warmup, threshold, open_events, status, rank, iterations, "
      "noise_precision, evidence_bound, strengths FROM slices WHERE network = ?1 ";
  Query row(database_, columns + (time ? "AND time = ?2" : "ORDER BY time DESC LIMIT 1"));
  row.bind(id.value_or(-1));
  if (time) row.bind(*time);
  const bool found = row.step();
  if (auto error = database_.take_error()) return tl::unexpected(*error);
  if (!found)
    return failure(StoreError::Kind::kNotFound,
                   time ? "there is no slice of " + network + " at that time"
                        : "there is no slice of " + network + " yet");
  const Layout* known = layout(row.integer(2));
  if (!known) return failure(StoreError::Kind::kDamaged, "a slice has no list of nodes");
  StoredSlice slice;
  slice.network = known->network;
  slice.time = row.integer(1);
  slice.warmup = row.real(3);
  slice.threshold = row.real(4);
  slice.open_events = int(row.integer(5));
  slice.model.status = row.text(6);
  slice.model.rank = int(row.integer(7));
  slice.model.iterations = int(row.integer(8));
  slice.model.noise_precision = row.real(9);
  slice.model.evidence_bound = row.real(10);
  slice.model.component_strengths = decode_numbers(row.blob(11));
  if (auto read = read_cells(row.integer(0), *known, slice); !read)
    return tl::unexpected(read.error());
  return finish(std::move(slice));
}

Outcome<std::int64_t> Reader::network_of(const SeriesRequest& request) {
  const auto network = id_of("networks", request.network);
  if (auto error = database_.take_error()) return tl::unexpected(*error);
  std::string missing;
  if (!network)
    missing = "there is no history of " + request.network;
  else if (!ever_had(*network, request.origin, false))
    missing = request.network + " has no node " + request.origin;
  else if (!ever_had(*network, request.destination, false))
    missing = request.network + " has no node " + request.destination;
  else if (!ever_had(*network, request.metric, true))
    missing = request.network + " has no metric " + request.metric;
  if (auto error = database_.take_error()) return tl::unexpected(*error);
  if (!missing.empty()) return failure(StoreError::Kind::kNotFound, std::move(missing));
  return *network;
}

Reader::CellPlace Reader::place_in(std::int64_t layout_id, const SeriesRequest& request) {
  CellPlace place;
  place.layout = layout(layout_id);
  if (!place.layout) return place;
  const Network& network = place.layout->network;
  place.origin = place_of(network.nodes, request.origin);
  place.destination = place_of(network.nodes, request.destination);
  place.metric = place_of(network.metrics, request.metric);
  return place;
}

bool Reader::read_point(std::int64_t slice, const CellPlace& place, SeriesPoint& out) {
  const Layout& known = *place.layout;
  const int block = place.origin / known.block_rows, first = known.first_row(block);
  Query data(database_, "SELECT data FROM blocks WHERE id = ?");
  if (!data.bind(block_id(slice, block)).step()) return false;
  const std::size_t cells = std::size_t(known.last_row(block) - first) * known.row_cells();
  if (!codec_.decode(data.blob(0), cells)) return false;
  const std::size_t cell =
      known.network.cell(place.origin - first, place.destination, place.metric);
  out.observed = codec_.value(kObserved, cell);
  out.expected = codec_.value(kExpected, cell);
  out.low = codec_.value(kLow, cell);
  out.high = codec_.value(kHigh, cell);
  out.sparse = codec_.value(kSparse, cell);
  out.score = codec_.value(kScore, cell);
  return true;
}

Outcome<Series> Reader::series(const SeriesRequest& request) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  const Transaction moment(database_, false);
  const auto network = network_of(request);
  if (!network) return tl::unexpected(network.error());
  const auto limit = std::size_t(std::clamp(request.limit, 1, kMostPoints));
  Series series;
  std::int64_t layout_id = -1;
  CellPlace place;
  Query slices(database_,
               "SELECT id, time, layout FROM slices WHERE network = ? AND time >= ? AND time < ? "
               "ORDER BY time");
  slices.bind(*network)
      .bind(request.from.value_or(std::numeric_limits<std::int64_t>::min()))
      .bind(request.to.value_or(std::numeric_limits<std::int64_t>::max()));
  while (slices.step()) {
    if (slices.integer(2) != layout_id) {
      layout_id = slices.integer(2);
      place = place_in(layout_id, request);
    }
    if (!place.known()) continue;
    if (series.points.size() == limit) {
      series.next = slices.integer(1);
      break;
    }
    SeriesPoint point;
    point.time = slices.integer(1);
    if (read_point(slices.integer(0), place, point))
      series.points.push_back(point);
    else
      ++series.unreadable;
  }
  return finish(std::move(series));
}

Outcome<std::vector<SlicePoint>> Reader::slices(const std::string& network,
                                                const std::string& metric, EpochSeconds from,
                                                EpochSeconds to) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  std::vector<SlicePoint> points;
  Query row(database_,
            "SELECT s.time, t.observed, t.expected, s.threshold, s.noise_precision, "
            "s.open_events, s.rank, s.iterations FROM slices s "
            "LEFT JOIN layout_names p ON p.layout = s.layout AND p.is_metric = 1 AND p.name = "
            "(SELECT id FROM names WHERE name = ?4) "
            "LEFT JOIN totals t ON t.slice = s.id AND t.metric = p.place "
            "WHERE s.network = (SELECT id FROM networks WHERE name = ?1) AND s.time >= ?2 "
            "AND s.time < ?3 ORDER BY s.time LIMIT ?5");
  row.bind(network).bind(from).bind(to).bind(metric).bind(kMostPoints);
  while (row.step()) {
    SlicePoint point;
    point.time = row.integer(0);
    point.total = {row.real(1), row.real(2)};
    point.threshold = row.real(3);
    point.noise_precision = row.real(4);
    point.open_events = int(row.integer(5));
    point.rank = int(row.integer(6));
    point.iterations = int(row.integer(7));
    points.push_back(point);
  }
  return finish(std::move(points));
}

Outcome<std::optional<HistoryBounds>> Reader::bounds(const std::string& network) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  Query row(database_,
            "SELECT (SELECT min(time) FROM slices WHERE network = n.id), "
            "(SELECT max(time) FROM slices WHERE network = n.id) FROM networks n WHERE name = ?");
  std::optional<HistoryBounds> bounds;
  if (row.bind(network).step() && !row.is_null(0))
    bounds = HistoryBounds{row.integer(0), row.integer(1)};
  return finish(bounds);
}

Outcome<std::vector<std::string>> Reader::networks() {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  std::vector<std::string> names;
  Query row(database_,
            "SELECT name FROM networks n WHERE EXISTS "
            "(SELECT 1 FROM slices WHERE network = n.id) ORDER BY name");
  while (row.step()) names.push_back(row.text(0));
  return finish(std::move(names));
}

}  // namespace outlierd::store
