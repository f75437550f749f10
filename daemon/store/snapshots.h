#pragma once
// The state of each network's model on disk, whole or not at all: written beside, made durable,
// then renamed. The last two of each network are kept; a damaged one is set aside (*.damaged) and
// the one before it is used.
//
//   magic "OUTLSNAP" | u32 version | u32 length of name | u64 length of state | u64 crc64 of state
//   | u64 journal position | i64 closed through | name | u64 crc64 of the above | state
//
// Not thread-safe; one object, one thread at a time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/store/error.h"

namespace outlierd::store {

struct Snapshot {
  std::vector<std::byte> state;
  std::uint64_t journal_position = 0;  // records before this one are in the state
  std::int64_t closed_through = std::numeric_limits<std::int64_t>::min();  // last bin in the state
};

struct LoadedSnapshot {
  std::optional<Snapshot> snapshot;    // nothing: there is none, or none that is good
  std::vector<std::string> set_aside;  // damaged files, by their new names
};

class Snapshots {
 public:
  static Outcome<Snapshots> open(const std::filesystem::path& directory);

  Outcome<void> save(const std::string& network, std::uint64_t journal_position,
                     std::int64_t closed_through, std::span<const std::byte> state);
  // The newest good one.
  Outcome<LoadedSnapshot> load(const std::string& network);
  // Every network that has one, sorted.
  Outcome<std::vector<std::string>> networks() const;
  Outcome<void> remove(const std::string& network);

 private:
  explicit Snapshots(std::filesystem::path directory) : directory_(std::move(directory)) {}
  struct Entry {
    std::uint64_t number = 0;
    std::filesystem::path path;
  };
  Outcome<std::vector<Entry>> entries(const std::string& network) const;  // oldest first

  std::filesystem::path directory_;
};

// A file name for any network's name: letters, digits, - and _ as they are, the rest as %XX; a long
// one is cut and ends in its checksum.
std::string file_name_of(const std::string& network);

}  // namespace outlierd::store
