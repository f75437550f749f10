#include "daemon/store/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_stream.h"
#include "daemon/store/crc32c.h"
#include "daemon/store/journal_segment.h"
#include "tests/support/random.h"
#include "tests/support/temporary_directory.h"

namespace outlierd::store {
namespace {

using test::bytes_of;
using test::file_bytes;
using test::FileSizeLimit;
using test::TemporaryDirectory;
using test::text_of;
using test::write_file;
using Records = std::vector<std::pair<std::uint64_t, std::string>>;

Outcome<std::uint64_t> append(Journal& journal, const std::vector<std::string>& payloads) {
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& payload : payloads) spans.push_back(bytes_of(payload));
  return journal.append(spans);
}

Records replayed(const Journal& journal, std::uint64_t from = 0) {
  Records records;
  const auto count = journal.replay(from, [&](std::uint64_t position, auto payload) {
    records.emplace_back(position, text_of(payload));
  });
  EXPECT_TRUE(count) << count.error().message;
  EXPECT_EQ(count.value_or(0), records.size());
  return records;
}

std::filesystem::path only_segment(const std::filesystem::path& directory) {
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".journal") found = entry.path();
  return found;
}

Journal open_journal(const std::filesystem::path& directory, JournalOptions options = {}) {
  auto journal = Journal::open(directory, options);
  if (!journal) throw std::runtime_error(journal.error().message);
  return std::move(*journal);
}

TEST(Crc32c, IsThatOfRfc3720AndTheSameByTableAndInPieces) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(bytes_of(digits)), 0xE3069283u);
  EXPECT_EQ(crc32c_portable(bytes_of(digits)), 0xE3069283u);
  EXPECT_EQ(crc32c(bytes_of(digits).subspan(4), crc32c(bytes_of(digits).first(4))), 0xE3069283u);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8A9136AAu);
}

TEST(Journal, GivesBackWhatWasAppendedAfterARestart) {
  TemporaryDirectory directory;
  const std::string large(3'000'000, 'x');
  {
    Journal journal = open_journal(directory.path());
    EXPECT_EQ(journal.next_position(), 1u);
    EXPECT_EQ(append(journal, {"a", "", "ccc"}).value(), 1u);
    EXPECT_EQ(append(journal, {large}).value(), 4u);
  }
  const Journal journal = open_journal(directory.path());
  const Records expected = {{1, "a"}, {2, ""}, {3, "ccc"}, {4, large}};
  EXPECT_EQ(replayed(journal), expected);
  EXPECT_EQ(replayed(journal, 3), Records(expected.begin() + 2, expected.end()));
  EXPECT_EQ(journal.next_position(), 5u);
  EXPECT_EQ(journal.recovery().torn_bytes, 0u);
}

TEST(Journal, AppendsMoreRecordsThanOneSystemCallTakes) {
  TemporaryDirectory directory;
  std::vector<std::string> payloads;
  for (int i = 0; i < 5000; ++i) payloads.push_back("record " + std::to_string(i));
  Journal journal = open_journal(directory.path());
  ASSERT_EQ(append(journal, payloads).value(), 1u);
  const Records records = replayed(journal);
  ASSERT_EQ(records.size(), payloads.size());
  for (std::size_t i = 0; i < records.size(); ++i) ASSERT_EQ(records[i].second, payloads[i]);
}

TEST(Journal, RefusesARecordThatIsTooLongAndTakesTheNext) {
  TemporaryDirectory directory;
  Journal journal = open_journal(directory.path(), {.max_record = 10});
  const auto refused = append(journal, {"short", "much too long"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::kInvalid);
  EXPECT_EQ(append(journal, {"short"}).value(), 1u);
  EXPECT_EQ(replayed(journal).size(), 1u);
}

class JournalTail : public testing::Test {
 protected:
  void SetUp() override {
    {
      Journal journal = open_journal(directory_.path());
      ASSERT_TRUE(append(journal, {"first", "second"}));
      segment_ = only_segment(directory_.path());
      answered_bytes_ = file_bytes(segment_).size();
      ASSERT_TRUE(append(journal, {"the third record", "the fourth"}));
    }
    whole_ = file_bytes(segment_);
    records_ = {{1, "first"}, {2, "second"}, {3, "the third record"}, {4, "the fourth"}};
  }

  TemporaryDirectory directory_;
  std::filesystem::path segment_;
  std::string whole_;
  std::size_t answered_bytes_ = 0;
  Records records_;
};

TEST_F(JournalTail, CutAtAnyByteGivesAPrefixAndGoesOn) {
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    SCOPED_TRACE(size);
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directories(directory_.path());
    write_file(segment_, whole_.substr(0, size));
    std::size_t kept = 0;
    {
      Journal journal = open_journal(directory_.path());
      const Records records = replayed(journal);
      kept = records.size();
      ASSERT_EQ(records, Records(records_.begin(), records_.begin() + kept));
      if (size >= answered_bytes_) {
        ASSERT_GE(kept, 2u);
      }
      ASSERT_EQ(journal.recovery().lost_records, 0u);
      ASSERT_EQ(append(journal, {"new"}).value(), kept + 1);
    }
    const Journal journal = open_journal(directory_.path());
    ASSERT_EQ(replayed(journal).size(), kept + 1);
    ASSERT_EQ(replayed(journal).back().second, "new");
  }
}

TEST_F(JournalTail, ByteChangedAnywhereLosesThatRecordAtMost) {
  for (std::size_t at = 0; at < whole_.size(); ++at) {
    SCOPED_TRACE(at);
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directories(directory_.path());
    std::string bytes = whole_;
    bytes[at] = char(bytes[at] ^ 0x41);
    write_file(segment_, bytes);
    Records records;
    {
      Journal journal = open_journal(directory_.path());
      records = replayed(journal);
      ASSERT_GE(records.size(), at < 40 ? 4u : 3u);
      for (const auto& record : records)  // nothing is made up
        ASSERT_EQ(record, records_[record.first - 1]);
      const bool in_last_record = at >= whole_.size() - 16 - records_.back().second.size();
      ASSERT_EQ(journal.recovery().damaged_files.size(), in_last_record ? 0u : 1u);
      if (!in_last_record) {
        ASSERT_EQ(file_bytes(journal.recovery().damaged_files.front()), bytes);
        ASSERT_EQ(journal.recovery().lost_records, 4 - records.size());
      }
      const auto position = append(journal, {"new"});
      ASSERT_TRUE(position) << position.error().message;
      ASSERT_EQ(*position, records.back().first + 1);
      records.emplace_back(*position, "new");
    }
    const Journal journal = open_journal(directory_.path());
    ASSERT_EQ(replayed(journal), records);
    ASSERT_EQ(journal.recovery().lost_records, 0u) << "reported twice";
  }
}

TEST_F(JournalTail, GarbageBehindTheRecordsIsCut) {
  for (const std::string& garbage : {std::string(1, '\0'), std::string(5000, '\0'),
                                     std::string("\x05\0\0\0 not a record at all", 24)}) {
    write_file(segment_, whole_ + garbage);
    const Journal journal = open_journal(directory_.path());
    EXPECT_EQ(replayed(journal), records_);
    EXPECT_EQ(journal.recovery().torn_bytes, garbage.size());
    EXPECT_EQ(std::filesystem::file_size(segment_), whole_.size());
  }
}

TEST(Journal, DamageInAnEarlierFileCostsOnlyWhatItHit) {
  TemporaryDirectory directory;
  {
    Journal journal = open_journal(directory.path(), {.segment_bytes = 100});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(journal, {"payload " + std::to_string(i)}));
    ASSERT_GT(journal.segments(), 4u);
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    if (entry.path().extension() == ".journal") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  const std::string bytes = file_bytes(files[1]);
  write_file(files[1], bytes.substr(0, bytes.size() - 3));  // its last record
  Journal journal = open_journal(directory.path(), {.segment_bytes = 100});
  EXPECT_EQ(replayed(journal).size(), 19u);
  EXPECT_EQ(journal.recovery().lost_records, 1u);
  ASSERT_EQ(journal.recovery().damaged_files.size(), 1u);
  EXPECT_EQ(journal.next_position(), 21u);
}

TEST(Journal, RefusesAFileOfALaterVersionInsteadOfSettingItAside) {
  TemporaryDirectory directory;
  {
    Journal journal = open_journal(directory.path());
    ASSERT_TRUE(append(journal, {"a"}));
  }
  const auto path = only_segment(directory.path());
  std::string bytes = file_bytes(path);
  bytes[8] = 2;
  const std::uint64_t sum = crc64(bytes_of(bytes).first(32));
  for (int i = 0; i < 8; ++i) bytes[32 + i] = char(sum >> (8 * i));
  write_file(path, bytes);
  const auto journal = Journal::open(directory.path());
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().kind, StoreError::Kind::kNewer);
  EXPECT_EQ(file_bytes(path), bytes);
}

TEST(Journal, PositionsDoNotRepeatAfterTrimmingEverythingAndARestart) {
  TemporaryDirectory directory;
  {
    Journal journal = open_journal(directory.path());
    ASSERT_TRUE(append(journal, {"a", "b", "c"}));
    ASSERT_TRUE(journal.trim(4));
    EXPECT_EQ(journal.segments(), 1u);
    EXPECT_TRUE(replayed(journal).empty());
  }
  {
    Journal journal = open_journal(directory.path());
    EXPECT_TRUE(replayed(journal).empty());
    EXPECT_EQ(journal.next_position(), 4u);
    EXPECT_EQ(append(journal, {"d"}).value(), 4u);
    journal.skip_to(100);
    EXPECT_EQ(append(journal, {"e"}).value(), 100u);
  }
  const Journal journal = open_journal(directory.path());
  EXPECT_EQ(replayed(journal), (Records{{4, "d"}, {100, "e"}}));
  EXPECT_EQ(journal.recovery().lost_records, 0u);
}

TEST(Journal, TrimRemovesOnlyFilesThatAreWhollyBefore) {
  TemporaryDirectory directory;
  Journal journal = open_journal(directory.path(), {.segment_bytes = 100});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(journal, {"payload " + std::to_string(i)}));
  const std::size_t before = journal.segments();
  const std::uint64_t bytes = journal.bytes();
  ASSERT_TRUE(journal.trim(8));
  EXPECT_LT(journal.segments(), before);
  EXPECT_LT(journal.bytes(), bytes);
  const Records records = replayed(journal, 8);
  EXPECT_EQ(records.size(), 13u);
  EXPECT_EQ(records.front().first, 8u);
}

TEST(Journal, FullDiskRefusesTheWholeAppendAndLaterTakesItAgain) {
  TemporaryDirectory directory;
  Records expected;
  {
    Journal journal = open_journal(directory.path());
    ASSERT_TRUE(append(journal, {"before"}));
    expected.emplace_back(1, "before");
    const std::uint64_t bytes = journal.bytes();
    for (rlim_t room = 0; room < 60; ++room) {  // tears the second or the third record
      const FileSizeLimit limit(bytes + room);
      const auto refused = append(journal, {"small", std::string(200, 'l')});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind, StoreError::Kind::kDisk);
      ASSERT_EQ(file_bytes(only_segment(directory.path())).size(), bytes);
    }
    EXPECT_EQ(replayed(journal), expected);
    ASSERT_EQ(append(journal, {"after"}).value(), 2u);
    expected.emplace_back(2, "after");
  }
  EXPECT_EQ(replayed(open_journal(directory.path())), expected);
}

TEST(Journal, FullDiskAtTheBeginningOfAFileLeavesNothingBehind) {
  TemporaryDirectory directory;
  Journal journal = open_journal(directory.path());
  {
    const FileSizeLimit limit(20);
    ASSERT_FALSE(append(journal, {"a"}));
  }
  EXPECT_TRUE(only_segment(directory.path()).empty());
  EXPECT_EQ(append(journal, {"a"}).value(), 1u);
}

// A sync failed and the file could not be cut: the next append began another file at the same
// position. What the first still holds from there on was never answered.
TEST(Journal, WhatAFailedAppendLeftBehindIsNotReplayed) {
  TemporaryDirectory directory;
  const auto file = [](std::uint64_t first, const Records& records) {
    std::string bytes = text_of(encode(SegmentHeader{0, first, first}));
    for (const auto& [position, payload] : records)
      bytes += text_of(record_header(position, bytes_of(payload))) + payload;
    return bytes;
  };
  const std::string good = file(1, {{1, "a"}, {2, "b"}});
  write_file(directory / segment_name(1),
             file(1, {{1, "a"}, {2, "b"}, {3, "failed"}, {4, "failed"}}));
  write_file(directory / segment_name(3), file(3, {{3, "c"}}));
  const Journal journal = open_journal(directory.path());
  EXPECT_EQ(replayed(journal), (Records{{1, "a"}, {2, "b"}, {3, "c"}}));
  EXPECT_EQ(journal.recovery().lost_records, 0u);
  EXPECT_TRUE(journal.recovery().damaged_files.empty());
  EXPECT_EQ(file_bytes(directory / segment_name(1)), good);
}

TEST(Journal, TwoDaemonsDoNotShareADirectory) {
  TemporaryDirectory directory;
  const Journal journal = open_journal(directory.path());
  const auto second = Journal::open(directory.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, StoreError::Kind::kLocked);
  EXPECT_EQ(second.error().message,
            directory.path().string() + " is in use by process " + std::to_string(getpid()));
}

// The child appends and says what was answered; it is killed at some moment of that.
void append_until_killed(const std::filesystem::path& directory, int pipe, std::uint64_t seed) {
  auto journal = Journal::open(directory, {.segment_bytes = 20'000});
  if (!journal) _exit(1);
  test::Random random(seed);
  for (;;) {
    std::vector<std::string> payloads;
    for (int i = random.index(4); i >= 0; --i)
      payloads.push_back("of " + std::to_string(seed) + std::string(random.index(2000), '.'));
    const auto first = append(*journal, payloads);
    if (!first) _exit(1);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const std::uint64_t answer[2] = {*first + i, payloads[i].size()};
      if (write(pipe, answer, sizeof answer) != sizeof answer) _exit(1);
    }
    if (random.chance(0.02) && !journal->trim(*first > 40 ? *first - 40 : 0)) _exit(1);
  }
}

TEST(Journal, LosesNothingThatWasAnsweredWhenKilledAHundredTimes) {
  TemporaryDirectory directory;
  test::Random random(11);
  std::map<std::uint64_t, std::uint64_t> answered;  // position -> length
  std::uint64_t last = 0;
  for (int round = 0; round < 100; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      append_until_killed(directory.path(), ends[1], std::uint64_t(round));
    }
    close(ends[1]);
    usleep(useconds_t(5000 + random.index(25'000)));
    kill(child, SIGKILL);
    std::uint64_t answer[2];
    while (read(ends[0], answer, sizeof answer) == sizeof answer) {
      ASSERT_GT(answer[0], last) << "a position was given out twice";
      last = answer[0];
      answered[answer[0]] = answer[1];
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself";

    const Journal journal = open_journal(directory.path(), {.segment_bytes = 20'000});
    EXPECT_EQ(journal.recovery().lost_records, 0u);
    std::map<std::uint64_t, std::uint64_t> found;
    for (const auto& [position, payload] : replayed(journal)) found[position] = payload.size();
    ASSERT_FALSE(found.empty() && !answered.empty());
    for (const auto& [position, length] : answered)
      if (position + 40 > last) {
        ASSERT_EQ(found[position], length) << position;
      }
    last = std::max(last, journal.next_position() - 1);
  }
  EXPECT_GT(answered.size(), 100u);
}

}  // namespace
}  // namespace outlierd::store
