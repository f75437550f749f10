#include "daemon/store/schema.h"

#include <array>
#include <string>

namespace outlierd::store {
namespace {

// A slice's cells are in blocks of origin rows: blocks.id is slices.id << 16 | block. Nodes and
// metrics are known by name: a layout says which name stands at which place of a slice.
constexpr const char* kFirst = R"(
CREATE TABLE networks (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE layouts (
  id INTEGER PRIMARY KEY, network INTEGER NOT NULL REFERENCES networks,
  bin_seconds INTEGER NOT NULL, block_rows INTEGER NOT NULL);
CREATE INDEX layouts_of_network ON layouts (network);
CREATE TABLE layout_names (
  layout INTEGER NOT NULL REFERENCES layouts, is_metric INTEGER NOT NULL, place INTEGER NOT NULL,
  name INTEGER NOT NULL REFERENCES names, PRIMARY KEY (layout, is_metric, place)) WITHOUT ROWID;
CREATE TABLE slices (
  id INTEGER PRIMARY KEY, network INTEGER NOT NULL REFERENCES networks, time INTEGER NOT NULL,
  layout INTEGER NOT NULL REFERENCES layouts, warmup REAL, threshold REAL,
  open_events INTEGER NOT NULL, status TEXT NOT NULL, rank INTEGER NOT NULL,
  iterations INTEGER NOT NULL, noise_precision REAL, evidence_bound REAL, strengths BLOB NOT NULL,
  UNIQUE (network, time));
CREATE TABLE blocks (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE anomalies (
  time INTEGER NOT NULL, network INTEGER NOT NULL REFERENCES networks,
  origin INTEGER NOT NULL REFERENCES names, destination INTEGER NOT NULL REFERENCES names,
  metric INTEGER NOT NULL REFERENCES names, observed REAL, expected REAL, low REAL, high REAL,
  sparse REAL, score REAL NOT NULL, up INTEGER NOT NULL, event TEXT NOT NULL,
  PRIMARY KEY (time, network, origin, destination, metric)) WITHOUT ROWID;
CREATE INDEX anomalies_of_network ON anomalies (network, time);
CREATE TABLE events (
  id TEXT PRIMARY KEY, network INTEGER NOT NULL REFERENCES networks,
  layout INTEGER NOT NULL REFERENCES layouts, open INTEGER NOT NULL, shape TEXT NOT NULL,
  up INTEGER NOT NULL, summary TEXT NOT NULL, opened INTEGER NOT NULL, updated INTEGER NOT NULL,
  closed INTEGER, peak_score REAL, excess REAL, members BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX events_newest ON events (opened, id);
CREATE INDEX events_of_network ON events (network, opened, id);
CREATE TABLE acknowledgements (
  event TEXT PRIMARY KEY REFERENCES events ON DELETE CASCADE, time INTEGER NOT NULL,
  who TEXT NOT NULL, note TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE silences (
  id TEXT PRIMARY KEY, network TEXT NOT NULL, origin TEXT NOT NULL, destination TEXT NOT NULL,
  node TEXT NOT NULL, shape TEXT NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL,
  author TEXT NOT NULL, comment TEXT NOT NULL, created INTEGER NOT NULL, expired INTEGER)
  WITHOUT ROWID;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, who TEXT NOT NULL,
  action TEXT NOT NULL, target TEXT NOT NULL, details TEXT NOT NULL);
)";

// What operators say of an event, and a row to try whether the disk takes writes.
constexpr const char* kFeedback = R"(
CREATE TABLE feedback (
  event TEXT PRIMARY KEY REFERENCES events ON DELETE CASCADE, time INTEGER NOT NULL,
  who TEXT NOT NULL, mark TEXT NOT NULL, note TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE probe (id INTEGER PRIMARY KEY, count INTEGER NOT NULL);
INSERT INTO probe VALUES (1, 0);
CREATE INDEX events_open ON events (open, opened, id);
)";

// Each metric of a slice taken together, by its place in the layout.
constexpr const char* kTotals = R"(
CREATE TABLE totals (
  slice INTEGER NOT NULL REFERENCES slices ON DELETE CASCADE, metric INTEGER NOT NULL,
  observed REAL, expected REAL, PRIMARY KEY (slice, metric)) WITHOUT ROWID;
)";

// Since when an event had been suspicious; of those from before, since they were opened.
constexpr const char* kSince = R"(
ALTER TABLE events ADD COLUMN since INTEGER;
)";

constexpr std::array<const char*, kSchemaVersion> kSteps = {kFirst, kFeedback, kTotals, kSince};

}  // namespace

const char* migration_to(int version) { return kSteps[std::size_t(version - 1)]; }

Outcome<int> schema_version(Database& database) {
  const auto found = int(database.number("PRAGMA user_version"));
  const auto application = int(database.number("PRAGMA application_id"));
  const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (auto error = database.take_error()) return tl::unexpected(*error);
  const std::string path = database.path().string();
  if (application != kApplicationId && tables > 0)
    return failure(StoreError::Kind::kInvalid, path + " is a database, but not one of outlierd");
  if (found > kSchemaVersion)
    return failure(StoreError::Kind::kNewer, path + " was written by a later outlierd (schema " +
                                                 std::to_string(found) + ", this one knows up to " +
                                                 std::to_string(kSchemaVersion) + ")");
  return found;
}

Outcome<int> migrate(Database& database) {
  const auto found = schema_version(database);
  if (!found) return found;
  for (int version = *found + 1; version <= kSchemaVersion; ++version) {
    Transaction transaction(database);
    database.execute(migration_to(version));
    database.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
    database.execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
    transaction.commit();
    if (auto error = database.take_error()) return tl::unexpected(*error);
  }
  return found;
}

}  // namespace outlierd::store
