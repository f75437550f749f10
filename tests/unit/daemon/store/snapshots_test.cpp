#include "daemon/store/snapshots.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/unit/daemon/store/reports.h"

namespace outlierd::store {
namespace {

using test::bytes_of;
using test::must;
using test::TemporaryDirectory;
using test::text_of;

std::vector<std::filesystem::path> files_in(const TemporaryDirectory& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Snapshots, GivesBackTheNewestAndKeepsTwo) {
  TemporaryDirectory directory;
  Snapshots snapshots = must(Snapshots::open(directory.path()));
  EXPECT_FALSE(must(snapshots.load("n")).snapshot);
  for (int i = 1; i <= 5; ++i)
    must(snapshots.save("n", std::uint64_t(i), 300 * i, bytes_of("state " + std::to_string(i))));
  const auto loaded = must(must(Snapshots::open(directory.path())).load("n"));
  ASSERT_TRUE(loaded.snapshot);
  EXPECT_EQ(text_of(loaded.snapshot->state), "state 5");
  EXPECT_EQ(loaded.snapshot->journal_position, 5u);
  EXPECT_EQ(loaded.snapshot->closed_through, 1500);
  EXPECT_TRUE(loaded.set_aside.empty());
  EXPECT_EQ(files_in(directory).size(), 2u);
}

TEST(Snapshots, AnyNameIsANetwork) {
  TemporaryDirectory directory;
  Snapshots snapshots = must(Snapshots::open(directory.path()));
  const std::vector<std::string> names = {"",
                                          "%",
                                          ".",
                                          "..",
                                          "../../etc/passwd",
                                          "a",
                                          "a.0000000000000001",
                                          "a/b",
                                          "a%2Fb",
                                          std::string("nul\0l", 5),
                                          "Z\xc3\xbcrich \xf0\x9f\x9a\x80",
                                          std::string(5000, 'x'),
                                          std::string(5000, 'x') + "y"};
  for (const std::string& name : names) must(snapshots.save(name, 1, 0, bytes_of("of " + name)));
  for (const std::string& name : names) {
    const auto loaded = must(snapshots.load(name));
    ASSERT_TRUE(loaded.snapshot) << name;
    EXPECT_EQ(text_of(loaded.snapshot->state), "of " + name);
  }
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(must(snapshots.networks()), sorted);
  must(snapshots.remove("a"));
  EXPECT_FALSE(must(snapshots.load("a")).snapshot);
  EXPECT_TRUE(must(snapshots.load("a/b")).snapshot);
}

TEST(Snapshots, DamageAtAnyByteIsSetAsideAndTheOlderOneServes) {
  TemporaryDirectory directory;
  Snapshots snapshots = must(Snapshots::open(directory.path()));
  must(snapshots.save("net", 1, 300, bytes_of("older state")));
  must(snapshots.save("net", 2, 600, bytes_of("newer state")));
  const auto newest = files_in(directory).back();
  const std::string whole = test::file_bytes(newest);
  for (std::size_t at = 0; at < 2 * whole.size(); ++at) {
    SCOPED_TRACE(at);
    std::string bytes = whole.substr(0, at < whole.size() ? at : whole.size());
    if (at >= whole.size()) bytes[at - whole.size()] = char(bytes[at - whole.size()] ^ 1);
    test::write_file(newest, bytes);
    const auto loaded = must(snapshots.load("net"));
    ASSERT_TRUE(loaded.snapshot);
    ASSERT_EQ(text_of(loaded.snapshot->state), "older state");
    ASSERT_EQ(loaded.set_aside.size(), 1u);
    ASSERT_EQ(test::file_bytes(loaded.set_aside[0]), bytes);
    std::filesystem::remove(loaded.set_aside[0]);
  }
}

TEST(Snapshots, AFullDiskLeavesTheOldOnesAndNoRemains) {
  TemporaryDirectory directory;
  Snapshots snapshots = must(Snapshots::open(directory.path()));
  must(snapshots.save("n", 1, 0, bytes_of("state")));
  {
    const test::FileSizeLimit limit(1000);
    const auto refused = snapshots.save("n", 2, 0, bytes_of(std::string(5000, 'x')));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, StoreError::Kind::kDisk);
  }
  EXPECT_EQ(files_in(directory).size(), 1u);
  EXPECT_EQ(must(snapshots.load("n")).snapshot->journal_position, 1u);
  must(snapshots.save("n", 2, 0, bytes_of(std::string(5000, 'x'))));
  EXPECT_EQ(must(snapshots.load("n")).snapshot->journal_position, 2u);
}

TEST(Snapshots, WhatACrashLeftHalfWrittenIsCleanedUp) {
  TemporaryDirectory directory;
  test::write_file(directory / "n.0000000000000001.snapshot.tmp", "half");
  Snapshots snapshots = must(Snapshots::open(directory.path()));
  EXPECT_TRUE(files_in(directory).empty());
  EXPECT_FALSE(must(snapshots.load("n")).snapshot);
}

}  // namespace
}  // namespace outlierd::store
