#include "daemon/store/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "daemon/store/database.h"
#include "daemon/store/file.h"

namespace outlierd::store {
namespace fs = std::filesystem;
namespace {

StoreError exists_already(const fs::path& destination) {
  return {StoreError::Kind::kExists, destination.string() + " exists already"};
}

// A read transaction holds one state of the source for as long as the copy takes.
Outcome<void> copy_pages(const fs::path& from, const fs::path& to, const BackupProgress& progress,
                         int pages_a_step) {
  auto source = Database::open(from, Database::Access::kReadOnly);
  if (!source) return tl::unexpected(source.error());
  sqlite3_busy_timeout(source->handle(), 5000);
  auto copy = Database::open(to, Database::Access::kReadWrite);
  if (!copy) return tl::unexpected(copy.error());
  const Transaction moment(*source, false);
  source->number("SELECT count(*) FROM sqlite_schema");
  if (auto error = source->take_error()) return tl::unexpected(*error);

  const std::unique_ptr<sqlite3_backup, int (*)(sqlite3_backup*)> backup(
      sqlite3_backup_init(copy->handle(), "main", source->handle(), "main"), sqlite3_backup_finish);
  int code = backup ? SQLITE_OK : SQLITE_ERROR;
  while (code == SQLITE_OK) {
    code = sqlite3_backup_step(backup.get(), pages_a_step);
    if (code != SQLITE_OK && code != SQLITE_DONE) break;
    const int pages = sqlite3_backup_pagecount(backup.get());
    const int left = sqlite3_backup_remaining(backup.get());
    if (progress && !progress(std::uint64_t(pages - left), std::uint64_t(pages)))
      return failure(StoreError::Kind::kCancelled, "the backup was stopped");
  }
  if (code != SQLITE_DONE)
    return failure(StoreError::Kind::kDisk,
                   "cannot back up to " + to.string() + ": " + sqlite3_errstr(code));
  return {};
}

// The copy is its file alone, without a log beside it.
Outcome<void> settle(const fs::path& path) {
  auto copy = Database::open(path, Database::Access::kReadWrite);
  if (!copy) return tl::unexpected(copy.error());
  copy->execute("PRAGMA journal_mode = DELETE");
  if (auto error = copy->take_error()) return tl::unexpected(*error);
  auto file = File::open(path, O_RDWR);
  if (!file) return tl::unexpected(file.error());
  return file->sync();
}

}  // namespace

Outcome<void> backup_database(const fs::path& database, const fs::path& destination,
                              const BackupProgress& progress, int pages_a_step) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(destination, ignored)))
    return tl::unexpected(exists_already(destination));
  const fs::path temporary = unused_name(destination.string() + ".partial");
  auto done = copy_pages(database, temporary, progress, pages_a_step);
  if (done) done = settle(temporary);
  // A second name instead of a rename: that would overwrite what came in the meantime.
  if (done && link(temporary.c_str(), destination.c_str()) != 0)
    done = errno == EEXIST ? Outcome<void>(tl::unexpected(exists_already(destination)))
                           : Outcome<void>(disk_failure("create", destination));
  for (const char* suffix : {"", "-wal", "-shm", "-journal"})
    (void)remove_file(temporary.string() + suffix);
  if (!done) return done;
  const fs::path directory = destination.parent_path();
  return sync_directory(directory.empty() ? fs::path(".") : directory);
}

}  // namespace outlierd::store
