// What Journal::open does to the files it finds: cuts a torn end, sets damaged files aside.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "daemon/store/journal.h"
#include "daemon/store/journal_segment.h"

namespace outlierd::store {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRescueSuffix = ".rescue";
constexpr std::uint64_t kCopyBytes = 1 << 20;

Outcome<void> copy_range(const File& from, SegmentScan::Extent extent, File& to,
                         std::uint64_t offset) {
  std::vector<std::byte> buffer(std::min(kCopyBytes, extent.end - extent.begin));
  while (extent.begin < extent.end) {
    const auto part =
        std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), extent.end - extent.begin));
    const auto got = from.read_at(part, extent.begin);
    if (!got) return tl::unexpected(got.error());
    if (*got < part.size()) return disk_failure("read", from.path(), EIO);
    if (auto written = to.write_at(part, offset); !written) return written;
    extent.begin += part.size();
    offset += part.size();
  }
  return {};
}

}  // namespace

Outcome<void> Journal::recover() {
  const auto names = list_directory(directory_);
  if (!names) return tl::unexpected(names.error());
  std::vector<std::uint64_t> firsts;
  for (const std::string& name : *names) {
    if (name.ends_with(kRescueSuffix)) (void)remove_file(directory_ / name);
    if (const auto first = segment_first(name)) firsts.push_back(*first);
  }
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const bool last = i + 1 == firsts.size();
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    if (!last) {  // where the journal stood when the next file was begun
      limit = firsts[i + 1];
      auto reader = SegmentReader::open(directory_ / segment_name(limit), options_.max_record);
      if (!reader) return tl::unexpected(reader.error());
      const auto header = reader->header();
      if (!header) return tl::unexpected(header.error());
      if (*header && (*header)->first == limit) limit = (*header)->journal_end;
    }
    if (auto done = recover_segment(firsts[i], limit, last); !done) return done;
  }
  return {};
}

Outcome<void> Journal::recover_segment(std::uint64_t first, std::uint64_t limit, bool last) {
  const fs::path path = directory_ / segment_name(first);
  const auto scan = scan_segment(path, first, limit, options_.max_record);
  if (!scan) return tl::unexpected(scan.error());
  next_ = std::max({next_, first, scan->next});
  if (last && !scan->header_good && scan->file_bytes <= kSegmentHeaderBytes) {
    recovery_.torn_bytes += scan->file_bytes;  // the file was being begun: it never held a record
    return remove_file(path);
  }
  const bool rescued = scan->header.flags & kSegmentRescued;
  const std::uint64_t tail = scan->file_bytes - std::min(scan->file_bytes, scan->good_end());
  const std::uint64_t lost_behind = last || rescued ? 0 : limit - std::min(limit, scan->next);
  recovery_.lost_records += scan->missing + lost_behind;

  Segment segment{path, first, scan->next, scan->good_end(), scan->records};
  if (scan->damaged() || (tail > 0 && lost_behind > 0)) {
    if (auto done = set_aside(segment, *scan); !done) return done;
    abandoned_ = last;
  } else if (tail > 0) {
    recovery_.torn_bytes += tail;
    auto file = File::open(path, O_WRONLY);
    if (!file) return tl::unexpected(file.error());
    if (auto cut = file->truncate(segment.bytes); !cut) return cut;
    if (auto synced = file->sync(); !synced) return synced;
  }
  segments_.push_back(std::move(segment));
  return {};
}

// The original gets a second name before the copy of what is good takes its first: at no moment
// is there less than before.
Outcome<void> Journal::set_aside(Segment& segment, const SegmentScan& scan) {
  const fs::path rescue = segment.path.string() + kRescueSuffix;
  auto from = File::open(segment.path, O_RDONLY);
  if (!from) return tl::unexpected(from.error());
  auto to = File::open(rescue, O_WRONLY | O_CREAT | O_TRUNC);
  if (!to) return tl::unexpected(to.error());
  const std::uint64_t journal_end = scan.header_good ? scan.header.journal_end : segment.first;
  auto done = to->write_at(encode(SegmentHeader{kSegmentRescued, segment.first, journal_end}), 0);
  std::uint64_t offset = kSegmentHeaderBytes;
  for (const SegmentScan::Extent& extent : scan.good) {
    if (done) done = copy_range(*from, extent, *to, offset);
    offset += extent.end - extent.begin;
  }
  if (done) done = to->sync();
  const fs::path damaged = unused_name(segment.path.string() + ".damaged");
  if (done && link(segment.path.c_str(), damaged.c_str()) != 0)
    done = disk_failure("keep", damaged);
  if (done) done = rename_file(rescue, segment.path);
  if (done) done = sync_directory(directory_);
  if (!done) {
    (void)remove_file(rescue);
    return done;
  }
  segment.bytes = offset;
  recovery_.damaged_files.push_back(damaged.string());
  return {};
}

}  // namespace outlierd::store
