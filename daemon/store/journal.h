#pragma once
// What was answered survives: an append-only log of records in files of about segment_bytes.
//
// append() returns once all its records are on disk, or leaves none of them behind. Each record has
// a position; positions grow and never repeat, also after trim() and a restart. A torn end is cut
// when the journal is opened; a damaged file is kept as *.damaged beside what is good of it.
//
// Holds a lock on its directory. Not thread-safe; one object, one thread at a time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemon/store/directory_lock.h"
#include "daemon/store/error.h"
#include "daemon/store/file.h"

namespace outlierd::store {

struct JournalOptions {
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;  // a file this long is followed by another
  std::uint64_t max_record = std::uint64_t{256} << 20;
};

// What open() found wrong and put right.
struct JournalRecovery {
  std::uint64_t torn_bytes = 0;            // of an append that was never answered: cut
  std::uint64_t lost_records = 0;          // answered once, no longer readable (at least so many)
  std::vector<std::string> damaged_files;  // where the damaged originals are now
};

class Journal {
 public:
  static Outcome<Journal> open(const std::filesystem::path& directory, JournalOptions options = {});

  const JournalRecovery& recovery() const { return recovery_; }

  using Visit = std::function<void(std::uint64_t position, std::span<const std::byte> payload)>;
  // Every record from that position on, in order. Returns how many.
  Outcome<std::uint64_t> replay(std::uint64_t from, const Visit& visit) const;

  // One write, one fdatasync. The position of the first; the others follow it one by one. After a
  // failure (full, read-only, failing disk) none is kept, and a later append may work again.
  Outcome<std::uint64_t> append(std::span<const std::span<const std::byte>> payloads);

  // Removes the files whose records are all before that position.
  Outcome<void> trim(std::uint64_t position);

  // Positions below that one are not given out any more. For a start: beyond every snapshot, so
  // that no new record can be taken for one that a snapshot holds already.
  void skip_to(std::uint64_t position);

  std::uint64_t next_position() const { return next_; }  // 1 in a new journal
  std::uint64_t bytes() const;
  std::size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    std::filesystem::path path;
    std::uint64_t first = 0, next = 0;  // positions in [first, next)
    std::uint64_t bytes = 0;            // good ones, from the start of the file
    std::uint64_t records = 0;
  };

  Journal(std::filesystem::path directory, JournalOptions options, DirectoryLock lock)
      : directory_(std::move(directory)), options_(options), lock_(std::move(lock)) {}
  Outcome<void> recover();
  Outcome<void> recover_segment(std::uint64_t first, std::uint64_t limit, bool last);
  Outcome<void> set_aside(Segment& segment, const struct SegmentScan& scan);
  Outcome<void> begin_segment();
  Outcome<void> open_active();

  std::filesystem::path directory_;
  JournalOptions options_;
  DirectoryLock lock_;
  JournalRecovery recovery_;
  std::vector<Segment> segments_;  // oldest first; the last one is written to
  File active_;
  bool abandoned_ = false;  // nothing more may be written to the last segment
  std::uint64_t next_ = 1;
};

}  // namespace outlierd::store
