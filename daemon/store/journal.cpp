#include "daemon/store/journal.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/store/journal_segment.h"

namespace outlierd::store {
namespace fs = std::filesystem;

Outcome<Journal> Journal::open(const fs::path& directory, JournalOptions options) {
  options.max_record =
      std::min<std::uint64_t>(options.max_record, std::numeric_limits<std::uint32_t>::max());
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  auto lock = DirectoryLock::take(directory);
  if (!lock) return tl::unexpected(lock.error());
  Journal journal(directory, options, std::move(*lock));
  if (auto done = journal.recover(); !done) return tl::unexpected(done.error());
  return journal;
}

Outcome<std::uint64_t> Journal::replay(std::uint64_t from, const Visit& visit) const {
  std::uint64_t visited = 0;
  for (const Segment& segment : segments_) {
    if (segment.next <= from || segment.records == 0) continue;
    auto reader = SegmentReader::open(segment.path, options_.max_record);
    if (!reader) return tl::unexpected(reader.error());
    for (std::uint64_t offset = kSegmentHeaderBytes; offset < segment.bytes;) {
      const auto record = reader->record_at(offset);
      if (!record) return tl::unexpected(record.error());
      if (!*record)
        return failure(StoreError::Kind::kDamaged,
                       segment.path.string() + " changed since the journal was opened: offset " +
                           std::to_string(offset) + " no longer holds a record");
      offset = (*record)->end;
      if ((*record)->position < from) continue;
      visit((*record)->position, (*record)->payload);
      ++visited;
    }
  }
  return visited;
}

Outcome<std::uint64_t> Journal::append(std::span<const std::span<const std::byte>> payloads) {
  if (payloads.empty()) return next_;
  for (const auto& payload : payloads)
    if (payload.size() > options_.max_record)
      return failure(StoreError::Kind::kInvalid,
                     "a record of " + std::to_string(payload.size()) +
                         " bytes is too long for the journal, the most is " +
                         std::to_string(options_.max_record));
  if (auto ready = open_active(); !ready) return tl::unexpected(ready.error());

  Segment& segment = segments_.back();
  std::vector<std::vector<std::byte>> headers;
  headers.reserve(payloads.size());
  std::vector<iovec> pieces;
  pieces.reserve(2 * payloads.size());
  std::uint64_t bytes = 0;
  for (const auto& payload : payloads) {
    auto& header = headers.emplace_back(record_header(next_ + headers.size(), payload));
    pieces.push_back({header.data(), header.size()});
    pieces.push_back({const_cast<std::byte*>(payload.data()), payload.size()});
    bytes += header.size() + payload.size();
  }
  auto written = active_.write_at(std::move(pieces), segment.bytes);
  auto durable = written ? active_.sync() : written;
  if (!durable) {
    // After a failed sync the kernel may hold the pages for clean: this file is not trusted again.
    const bool cut = bool(active_.truncate(segment.bytes));
    abandoned_ = written.has_value() || !cut;
    return tl::unexpected(durable.error());
  }
  const std::uint64_t first = next_;
  next_ += payloads.size();
  segment.next = next_;
  segment.bytes += bytes;
  segment.records += payloads.size();
  return first;
}

Outcome<void> Journal::open_active() {
  const bool usable =
      !segments_.empty() && !abandoned_ && segments_.back().next == next_ &&
      (segments_.back().bytes < options_.segment_bytes || segments_.back().records == 0);
  if (!usable) return begin_segment();
  if (active_.is_open()) return {};
  auto file = File::open(segments_.back().path, O_WRONLY);
  if (!file) return tl::unexpected(file.error());
  active_ = std::move(*file);
  return {};
}

// The header is durable before any record: a file without a good header never held an answer.
Outcome<void> Journal::begin_segment() {
  const std::uint64_t end = segments_.empty() ? next_ : segments_.back().next;
  if (!segments_.empty() && segments_.back().first == next_) {  // abandoned before its first record
    if (auto removed = remove_file(segments_.back().path); !removed) return removed;
    active_.close();
    segments_.pop_back();
  }
  const fs::path path = directory_ / segment_name(next_);
  auto file = File::open(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return tl::unexpected(file.error());
  auto written = file->write_at(encode(SegmentHeader{0, next_, std::min(end, next_)}), 0);
  if (written) written = file->sync();
  if (written) written = sync_directory(directory_);
  if (!written) {
    (void)remove_file(path);
    return written;
  }
  segments_.push_back({path, next_, next_, kSegmentHeaderBytes, 0});
  active_ = std::move(*file);
  abandoned_ = false;
  return {};
}

Outcome<void> Journal::trim(std::uint64_t position) {
  if (!segments_.empty() && segments_.back().records > 0 && segments_.back().next <= position)
    if (auto begun = begin_segment(); !begun) return begun;  // so that its name keeps the position
  bool removed_any = false;
  while (segments_.size() > 1 && segments_.front().next <= position) {
    if (auto removed = remove_file(segments_.front().path); !removed) return removed;
    segments_.erase(segments_.begin());
    removed_any = true;
  }
  return removed_any ? sync_directory(directory_) : Outcome<void>{};
}

void Journal::skip_to(std::uint64_t position) { next_ = std::max(next_, position); }

std::uint64_t Journal::bytes() const {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.bytes;
  return sum;
}

}  // namespace outlierd::store
