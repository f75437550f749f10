// The store on disks that are full or damaged, on files of other versions, and its backup.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "daemon/store/backup.h"
#include "daemon/store/database.h"
#include "daemon/store/reader.h"
#include "daemon/store/schema.h"
#include "daemon/store/store.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/daemon/store/reports.h"

namespace outlierd::store {
namespace {

using test::event_of;
using test::FileSizeLimit;
using test::must;
using test::network_of;
using test::report_of;
using test::TemporaryDirectory;
using test::write_one;

void write_slices(const std::filesystem::path& path, int first, int last) {
  Store store = must(Store::open(path));
  const Network network = network_of("n", 12);
  for (int t = first; t < last; ++t) {
    SliceReport report = report_of(network, 300 * t);
    report.events = {{EventChange::kOpened, event_of("e" + std::to_string(t), 300 * t, 300 * t)}};
    write_one(store, network, report);
  }
}

TEST(StoreRecovery, AVersionOneFileIsMigratedWithWhatItHolds) {
  TemporaryDirectory directory;
  const auto path = directory / "outlierd.db";
  {
    Database old = must(Database::open(path, Database::Access::kReadWrite));
    old.execute(migration_to(1));
    old.execute("PRAGMA application_id = 1330992204; PRAGMA user_version = 1;");
    old.execute(
        "INSERT INTO networks VALUES (1, 'n'); INSERT INTO names VALUES (1, 'A'), (2, 'bytes');"
        "INSERT INTO layouts VALUES (1, 1, 300, 16384);"
        "INSERT INTO layout_names VALUES (1, 0, 0, 1), (1, 1, 0, 2);"
        "INSERT INTO events VALUES ('e1', 1, 1, 1, 'scan', 1, 'old', 300, 300, NULL, 7, 8, "
        "x'000000000000000000000000');"
        "INSERT INTO acknowledgements VALUES ('e1', 400, 'ann', 'seen');");
    ASSERT_TRUE(old.ok()) << old.take_error()->message;
  }
  EXPECT_FALSE(Reader::open(path)) << "a reader does not migrate";
  Store store = must(Store::open(path));
  EXPECT_EQ(store.recovery().migrated_from, 1);
  must(store.mark("e1", {"false_alarm", "ann", "", 500}));
  Reader reader = must(Reader::open(path));
  const StoredEvent event = must(reader.event("e1"));
  EXPECT_EQ(event.summary, "old");
  EXPECT_EQ(event.since, event.opened) << "it was not written then";
  EXPECT_EQ(event.shape, Shape::kScan);
  EXPECT_EQ(event.acknowledged->by, "ann");
  EXPECT_EQ(event.feedback->mark, "false_alarm");
}

TEST(StoreRecovery, ALaterSchemaAndAStrangersDatabaseAreRefusedUntouched) {
  TemporaryDirectory directory;
  const auto later = directory / "later.db", stranger = directory / "stranger.db";
  write_slices(later, 0, 1);
  {
    Database database = must(Database::open(later, Database::Access::kReadWrite));
    database.execute("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE");
    Database other = must(Database::open(stranger, Database::Access::kReadWrite));
    other.execute("CREATE TABLE photographs (id INTEGER)");
  }
  for (const auto& path : {later, stranger}) {
    const std::string before = test::file_bytes(path);
    const auto refused = Store::open(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              path == later ? path.string() +
                                  " was written by a later outlierd (schema 99, this one knows "
                                  "up to " +
                                  std::to_string(kSchemaVersion) + ")"
                            : path.string() + " is a database, but not one of outlierd");
    EXPECT_EQ(test::file_bytes(path), before);
  }
}

TEST(StoreRecovery, ADamagedDatabaseIsSetAsideAndANewOneBegun) {
  TemporaryDirectory directory;
  const auto path = directory / "outlierd.db";
  const auto damage = [&](int kind) {
    std::string bytes = test::file_bytes(path);
    if (kind == 0) bytes = "this is no database at all, but it is long enough to look like one...";
    if (kind == 1)
      for (std::size_t i = 16384; i < bytes.size(); ++i) bytes[i] = char(i * 31);
    if (kind == 2) bytes.resize(bytes.size() / 2);
    test::write_file(path, bytes);
    return bytes;
  };
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE(kind);
    write_slices(path, 0, 50);
    Reader reader = must(Reader::open(path));
    EXPECT_EQ(must(reader.bounds("n"))->oldest, 0);
    const std::string bytes = damage(kind);
    Store store = must(Store::open(path));
    EXPECT_EQ(store.recovery().set_aside, path.string() + ".damaged-" + std::to_string(kind + 1));
    EXPECT_FALSE(store.recovery().reason.empty());
    EXPECT_EQ(test::file_bytes(store.recovery().set_aside), bytes);
    const Network network = network_of("n", 12);
    write_one(store, network, report_of(network, 300 * 100));
    EXPECT_EQ(must(reader.bounds("n"))->oldest, 300 * 100) << "the reader follows";
  }
}

TEST(StoreRecovery, AFullDiskIsSaidAndLeavesTheStoreAsItWas) {
  TemporaryDirectory directory;
  const auto path = directory / "outlierd.db";
  const Network network = network_of("n", 12), fresh = network_of("fresh", 12);
  Store store = must(Store::open(path));
  write_one(store, network, report_of(network, 0));
  const SliceReport report = report_of(fresh, 300);
  const SliceToStore item{&fresh, &report};
  {
    const FileSizeLimit limit(std::filesystem::file_size(path.string() + "-wal") + 5000);
    for (int i = 0; i < 3; ++i) {
      const auto refused = store.write(std::span(&item, 1));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind, StoreError::Kind::kDisk) << refused.error().message;
      EXPECT_FALSE(store.writable());
    }
  }
  EXPECT_TRUE(store.writable());
  EXPECT_TRUE(store.write(std::span(&item, 1)));
  Reader reader = must(Reader::open(path));
  EXPECT_EQ(must(reader.matrix("fresh", 300)).network, fresh);
}

TEST(StoreRecovery, WhatWasCommittedIsThereAfterAKill) {
  TemporaryDirectory directory;
  const auto path = directory / "outlierd.db";
  { must(Store::open(path)); }
  for (int round = 0; round < 10; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = Store::open(path);
      if (!store) _exit(1);
      const Network network = network_of("n", 12);
      for (int t = round * 100'000;; ++t) {
        const SliceReport report = report_of(network, 300 * EpochSeconds(t));
        const SliceToStore item{&network, &report};
        if (!store->write(std::span(&item, 1))) _exit(1);
        if (write(ends[1], &t, sizeof t) != sizeof t) _exit(1);
      }
    }
    close(ends[1]);
    usleep(useconds_t(30'000 + 3000 * round));
    kill(child, SIGKILL);
    int t = -1;
    while (read(ends[0], &t, sizeof t) == sizeof t) {
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    Store store = must(Store::open(path));
    EXPECT_TRUE(store.recovery().set_aside.empty());
    Reader reader = must(Reader::open(path));
    if (t >= 0) {
      EXPECT_TRUE(reader.matrix("n", 300 * EpochSeconds(t)));
    }
  }
}

TEST(StoreRecovery, ABackupTakenDuringWritesIsConsistent) {
  TemporaryDirectory directory;
  const auto path = directory / "outlierd.db", copy = directory / "copy.db";
  write_slices(path, 0, 200);
  std::atomic<bool> stop{false};
  std::atomic<int> written{200};
  std::thread writer([&] {
    Store store = must(Store::open(path));
    const Network network = network_of("n", 12);
    while (!stop) {
      const int t = written.load();
      SliceReport report = report_of(network, 300 * t);
      report.events = {{EventChange::kOpened, event_of("e" + std::to_string(t), 300 * t, 300 * t)}};
      write_one(store, network, report);
      written = t + 1;
    }
  });
  int steps = 0, at_start = 0;
  const auto done = backup_database(
      path, copy,
      [&](std::uint64_t pages_done, std::uint64_t pages) {
        EXPECT_LE(pages_done, pages);
        if (steps++ == 0) at_start = written;
        for (int before = written; written < before + 2;) std::this_thread::yield();
        return true;
      },
      8);
  const int at_end = written;
  stop = true;
  writer.join();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(steps, 3);
  EXPECT_GT(at_end, at_start);
  Store store = must(Store::open(copy, {.thorough_check = true}));
  EXPECT_TRUE(store.recovery().set_aside.empty()) << store.recovery().reason;
  Reader reader = must(Reader::open(copy));
  const EpochSeconds newest = must(reader.bounds("n"))->newest;
  EXPECT_GE(newest, 300 * 199);
  EXPECT_LE(newest, 300 * (at_start + 1));
  EXPECT_TRUE(reader.matrix("n", newest));
  EXPECT_TRUE(reader.event("e" + std::to_string(newest / 300)));
  EXPECT_FALSE(reader.event("e" + std::to_string(newest / 300 + 1)));
}

TEST(StoreRecovery, ABackupOverwritesNothingAndLeavesNothingWhenStopped) {
  TemporaryDirectory directory;
  const auto path = directory / "outlierd.db", copy = directory / "copy.db";
  write_slices(path, 0, 20);
  const auto stopped = backup_database(
      path, copy, [](auto, auto) { return false; }, 1);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, StoreError::Kind::kCancelled);
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    EXPECT_TRUE(entry.path().filename().string().starts_with("outlierd.db")) << entry.path();
  test::write_file(copy, "mine");
  const auto refused = backup_database(path, copy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::kExists);
  EXPECT_EQ(test::file_bytes(copy), "mine");
  EXPECT_FALSE(backup_database(directory / "absent.db", directory / "other.db"));
  EXPECT_FALSE(std::filesystem::exists(directory / "other.db"));
}

}  // namespace
}  // namespace outlierd::store
