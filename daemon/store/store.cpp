#include "daemon/store/store.h"

#include <sqlite3.h>

#include "daemon/store/file.h"
#include "daemon/store/schema.h"

namespace outlierd::store {
namespace fs = std::filesystem;
namespace {

// Pages of 16 KiB hold several slices of a small network each; they are set before the first table.
constexpr const char* kNewFile = "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL;";
constexpr const char* kSettings =
    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 67108864;";

Outcome<void> check_whole(Database& database, const StoreOptions& options) {
  std::error_code ignored;
  const auto size = fs::file_size(database.path(), ignored);
  if (!options.thorough_check && (ignored || size > options.check_up_to_bytes)) return {};
  Query check(database,
              options.thorough_check ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)");
  const bool answered = check.step();
  if (auto error = database.take_error()) return tl::unexpected(*error);
  if (answered && check.text(0) == "ok") return {};
  return failure(StoreError::Kind::kDamaged,
                 database.path().string() + ": " + (answered ? check.text(0) : "unreadable"));
}

Outcome<int> prepare(Database& database, const StoreOptions& options) {
  sqlite3_busy_timeout(database.handle(), options.busy_milliseconds);
  const auto found = schema_version(database);
  if (!found) return found;
  if (*found == 0) database.execute(kNewFile);
  std::string mode;
  {
    Query row(database, "PRAGMA journal_mode = WAL");
    if (row.step()) mode = row.text(0);
  }
  database.execute(kSettings);
  if (auto error = database.take_error()) return tl::unexpected(*error);
  if (mode != "wal")
    return failure(StoreError::Kind::kDisk,
                   database.path().string() + ": the file system allows no write-ahead log");
  if (auto good = check_whole(database, options); !good) return tl::unexpected(good.error());
  return migrate(database);
}

Outcome<fs::path> set_database_aside(const fs::path& path) {
  fs::path aside;
  std::error_code ignored;
  for (int n = 1;; ++n) {
    aside = path.string() + ".damaged-" + std::to_string(n);
    if (!fs::exists(aside, ignored)) break;
  }
  // The log goes with its database: kept, so that both can still be looked into.
  if (fs::exists(path.string() + "-wal", ignored))
    if (auto moved = rename_file(path.string() + "-wal", aside.string() + "-wal"); !moved)
      return tl::unexpected(moved.error());
  if (auto moved = rename_file(path, aside); !moved) return tl::unexpected(moved.error());
  if (auto removed = remove_file(path.string() + "-shm"); !removed)
    return tl::unexpected(removed.error());
  const fs::path directory = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  if (auto synced = sync_directory(directory); !synced) return tl::unexpected(synced.error());
  return aside;
}

}  // namespace

Outcome<Store> Store::open(const fs::path& path, StoreOptions options) {
  if (!path.parent_path().empty())
    if (auto made = make_directory(path.parent_path()); !made) return tl::unexpected(made.error());
  StoreRecovery recovery;
  for (;;) {
    StoreError error;
    {
      auto database = Database::open(path, Database::Access::kReadWrite);
      if (!database) return tl::unexpected(database.error());
      const auto version = prepare(*database, options);
      if (version) {
        recovery.migrated_from = *version;
        return Store(std::move(*database), std::move(recovery));
      }
      error = version.error();
    }
    if (error.kind != StoreError::Kind::kDamaged || !recovery.set_aside.empty())
      return tl::unexpected(error);
    const auto aside = set_database_aside(path);
    if (!aside) return tl::unexpected(aside.error());
    recovery.set_aside = aside->string();
    recovery.reason = error.message;
  }
}

Outcome<void> Store::finish(Transaction& transaction) {
  transaction.commit();
  auto outcome = database_.outcome();
  if (!outcome) {  // what was added is rolled back, so it may not be remembered
    networks_.clear();
    names_.clear();
    layouts_.clear();
  }
  return outcome;
}

bool Store::has_event(const std::string& event) {
  Query row(database_, "SELECT 1 FROM events WHERE id = ?");
  return row.bind(event).step();
}

void Store::write_audit(const AuditEntry& entry) {
  Query(database_, "INSERT INTO audit (time, who, action, target, details) VALUES (?, ?, ?, ?, ?)")
      .bind(entry.time)
      .bind(entry.who)
      .bind(entry.action)
      .bind(entry.target)
      .bind(entry.details)
      .run();
}

Outcome<void> Store::audit(const AuditEntry& entry) {
  Transaction transaction(database_);
  write_audit(entry);
  return finish(transaction);
}

Outcome<void> Store::acknowledge(const std::string& event, const Acknowledgement& given) {
  Transaction transaction(database_);
  if (!has_event(event) && database_.ok())
    return failure(StoreError::Kind::kNotFound, "there is no event " + event);
  Query(database_, "INSERT OR REPLACE INTO acknowledgements VALUES (?, ?, ?, ?)")
      .bind(event)
      .bind(given.time)
      .bind(given.by)
      .bind(given.note)
      .run();
  write_audit({given.time, given.by, "acknowledge", event, given.note});
  return finish(transaction);
}

Outcome<void> Store::mark(const std::string& event, const Feedback& feedback) {
  if (!feedback.mark.empty() && feedback.mark != "false_alarm" && feedback.mark != "expected")
    return failure(StoreError::Kind::kInvalid,
                   "a mark is false_alarm or expected, not " + feedback.mark);
  Transaction transaction(database_);
  if (!has_event(event) && database_.ok())
    return failure(StoreError::Kind::kNotFound, "there is no event " + event);
  Query(database_, "DELETE FROM feedback WHERE event = ?").bind(event).run();
  if (!feedback.mark.empty())
    Query(database_, "INSERT INTO feedback VALUES (?, ?, ?, ?, ?)")
        .bind(event)
        .bind(feedback.time)
        .bind(feedback.by)
        .bind(feedback.mark)
        .bind(feedback.note)
        .run();
  const std::string what = feedback.mark.empty() ? "unmark" : "mark " + feedback.mark;
  write_audit({feedback.time, feedback.by, what, event, feedback.note});
  return finish(transaction);
}

Outcome<void> Store::add_silence(const Silence& silence) {
  Transaction transaction(database_);
  Query(database_, "INSERT OR IGNORE INTO silences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)")
      .bind(silence.id)
      .bind(silence.network)
      .bind(silence.origin)
      .bind(silence.destination)
      .bind(silence.node)
      .bind(silence.shape)
      .bind(silence.starts)
      .bind(silence.ends)
      .bind(silence.author)
      .bind(silence.comment)
      .bind(silence.created)
      .run();
  if (database_.ok() && database_.changes() == 0)
    return failure(StoreError::Kind::kExists, "there is a silence " + silence.id + " already");
  write_audit({silence.created, silence.author, "silence", silence.id, silence.comment});
  return finish(transaction);
}

Outcome<void> Store::expire_silence(const std::string& id, const std::string& by,
                                    EpochSeconds time) {
  Transaction transaction(database_);
  bool known = false;
  {
    Query row(database_, "SELECT 1 FROM silences WHERE id = ?");
    known = row.bind(id).step();
  }
  if (!known && database_.ok())
    return failure(StoreError::Kind::kNotFound, "there is no silence " + id);
  Query(database_, "UPDATE silences SET expired = ? WHERE id = ? AND expired IS NULL")
      .bind(time)
      .bind(id)
      .run();
  if (database_.changes() > 0) write_audit({time, by, "expire silence", id, ""});
  return finish(transaction);
}

Outcome<void> Store::writable() {
  Transaction transaction(database_);
  Query(database_, "UPDATE probe SET count = count + 1 WHERE id = 1").run();
  return finish(transaction);
}

}  // namespace outlierd::store
