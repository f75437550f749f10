#pragma once
// One file of the journal: its format and how to read it. All numbers little-endian.
//
//   header: magic "OUTLJRNL" | u32 version | u32 flags | u64 first position |
//           u64 where the journal stood when this file was begun | u64 crc64 of the above
//   record: u32 length | u32 crc32c of length, position and payload | u64 position | payload
//
// Positions grow from record to record; a gap is a record that was lost, or skipped on purpose.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/store/error.h"
#include "daemon/store/file.h"

namespace outlierd::store {

inline constexpr std::uint64_t kSegmentHeaderBytes = 40;
inline constexpr std::uint64_t kRecordHeaderBytes = 16;
inline constexpr std::uint32_t kSegmentRescued = 1;  // flag: what is good of a damaged file

struct SegmentHeader {
  std::uint32_t flags = 0;
  std::uint64_t first = 0;
  std::uint64_t journal_end = 0;  // the position that would have come next, at most `first`
};

std::vector<std::byte> encode(const SegmentHeader& header);
std::vector<std::byte> record_header(std::uint64_t position, std::span<const std::byte> payload);
std::string segment_name(std::uint64_t first);                             // "<16 hex>.journal"
std::optional<std::uint64_t> segment_first(const std::string& file_name);  // of such a name

// Reads records at any offset through a buffer. One thread.
class SegmentReader {
 public:
  static Outcome<SegmentReader> open(const std::filesystem::path& path, std::uint64_t max_record);

  // Nothing: damaged or cut short. kNewer: of a later version.
  Outcome<std::optional<SegmentHeader>> header();

  struct Record {
    std::uint64_t position = 0;
    std::span<const std::byte> payload;  // until the next call
    std::uint64_t end = 0;               // the offset after it
  };
  // Nothing unless a whole record with a good checksum begins there.
  Outcome<std::optional<Record>> record_at(std::uint64_t offset);
  // The first offset from `offset` on where a good record of a position in [least, limit) begins.
  Outcome<std::optional<std::uint64_t>> find_record(std::uint64_t offset, std::uint64_t least,
                                                    std::uint64_t limit);
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  // Empty when the file ends before.
  Outcome<std::span<const std::byte>> view(std::uint64_t offset, std::uint64_t bytes);

  File file_;
  std::uint64_t file_bytes_ = 0, max_record_ = 0;
  std::vector<std::byte> buffer_;
  std::uint64_t buffer_offset_ = 0, buffer_used_ = 0;
};

// What a file holds of positions in [first, limit).
struct SegmentScan {
  struct Extent {
    std::uint64_t begin = 0, end = 0;
  };
  bool header_good = false;
  SegmentHeader header;
  std::vector<Extent> good;      // runs of good records, by offset
  std::uint64_t records = 0;     // in them
  std::uint64_t next = 0;        // one past the last good position; first when there is none
  std::uint64_t missing = 0;     // positions skipped between good runs
  std::uint64_t file_bytes = 0;  // bytes after the last good run are its tail

  std::uint64_t good_end() const { return good.empty() ? kSegmentHeaderBytes : good.back().end; }
  bool damaged() const {
    return !header_good || good.size() > 1 ||
           (!good.empty() && good.front().begin != kSegmentHeaderBytes);
  }
};
Outcome<SegmentScan> scan_segment(const std::filesystem::path& path, std::uint64_t first,
                                  std::uint64_t limit, std::uint64_t max_record);

}  // namespace outlierd::store
