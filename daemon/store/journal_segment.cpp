#include "daemon/store/journal_segment.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/byte_stream.h"
#include "daemon/store/crc32c.h"

namespace outlierd::store {
namespace {

constexpr std::array<char, 8> kSegmentMagic = {'O', 'U', 'T', 'L', 'J', 'R', 'N', 'L'};
constexpr std::uint32_t kSegmentVersion = 1;
constexpr std::uint64_t kBufferBytes = 256 * 1024;
// A search for a record gives up after this many bytes of checksums: bytes that look like many
// headers must not cost the square of their number.
constexpr std::uint64_t kSearchBytes = std::uint64_t{1} << 30;
constexpr const char* kSegmentSuffix = ".journal";

std::uint32_t checksum(std::span<const std::byte> header, std::span<const std::byte> payload) {
  return crc32c(payload, crc32c(header.subspan(8, 8), crc32c(header.first(4))));
}

}  // namespace

std::vector<std::byte> encode(const SegmentHeader& header) {
  ByteWriter out;
  out.numbers(std::span<const char>(kSegmentMagic));
  out.number(kSegmentVersion);
  out.number(header.flags);
  out.number(header.first);
  out.number(header.journal_end);
  std::vector<std::byte> bytes = out.take();
  ByteWriter sum;
  sum.number(crc64(bytes));
  const auto tail = sum.take();
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
}

std::vector<std::byte> record_header(std::uint64_t position, std::span<const std::byte> payload) {
  ByteWriter out;
  out.reserve(kRecordHeaderBytes);
  out.number(std::uint32_t(payload.size()));
  out.number(std::uint32_t{0});
  out.number(position);
  std::vector<std::byte> bytes = out.take();
  detail::to_little_endian(checksum(bytes, payload), bytes.data() + 4);
  return bytes;
}

std::string segment_name(std::uint64_t first) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%016llx%s", static_cast<unsigned long long>(first),
                kSegmentSuffix);
  return text.data();
}

std::optional<std::uint64_t> segment_first(const std::string& file_name) {
  if (file_name.size() != 16 + std::strlen(kSegmentSuffix) || !file_name.ends_with(kSegmentSuffix))
    return {};
  std::uint64_t first = 0;
  for (char digit : file_name.substr(0, 16)) {
    const bool decimal = digit >= '0' && digit <= '9';
    if (!decimal && (digit < 'a' || digit > 'f')) return {};
    first = first << 4 | std::uint64_t(decimal ? digit - '0' : digit - 'a' + 10);
  }
  return first;
}

Outcome<SegmentReader> SegmentReader::open(const std::filesystem::path& path,
                                           std::uint64_t max_record) {
  auto file = File::open(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  const auto size = file->size();
  if (!size) return tl::unexpected(size.error());
  SegmentReader reader;
  reader.file_ = std::move(*file);
  reader.file_bytes_ = *size;
  reader.max_record_ = max_record;
  return reader;
}

Outcome<std::span<const std::byte>> SegmentReader::view(std::uint64_t offset, std::uint64_t bytes) {
  using View = std::span<const std::byte>;
  if (offset > file_bytes_ || bytes > file_bytes_ - offset) return View{};
  if (offset < buffer_offset_ || offset + bytes > buffer_offset_ + buffer_used_) {
    const std::uint64_t wanted = std::min(std::max(bytes, kBufferBytes), file_bytes_ - offset);
    if (buffer_.size() < wanted || (buffer_.size() > kBufferBytes && wanted <= kBufferBytes))
      buffer_ = std::vector<std::byte>(wanted);
    buffer_used_ = 0;
    const auto got = file_.read_at(std::span(buffer_).first(wanted), offset);
    if (!got) return tl::unexpected(got.error());
    buffer_offset_ = offset;
    buffer_used_ = *got;
    if (*got < bytes) return View{};
  }
  return View(buffer_).subspan(offset - buffer_offset_, bytes);
}

Outcome<std::optional<SegmentHeader>> SegmentReader::header() {
  const auto bytes = view(0, kSegmentHeaderBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->empty()) return std::nullopt;
  ByteReader in(*bytes);
  std::array<char, 8> magic{};
  in.numbers(std::span<char>(magic));
  const auto version = in.number<std::uint32_t>();
  SegmentHeader header;
  header.flags = in.number<std::uint32_t>();
  header.first = in.number<std::uint64_t>();
  header.journal_end = in.number<std::uint64_t>();
  const bool good = magic == kSegmentMagic &&
                    in.number<std::uint64_t>() == crc64(bytes->first(kSegmentHeaderBytes - 8));
  if (!good) return std::nullopt;
  if (version != kSegmentVersion)
    return failure(StoreError::Kind::kNewer,
                   file_.path().string() + " is of version " + std::to_string(version) +
                       " of the journal, this outlierd knows " + std::to_string(kSegmentVersion));
  return header;
}

Outcome<std::optional<SegmentReader::Record>> SegmentReader::record_at(std::uint64_t offset) {
  const auto head = view(offset, kRecordHeaderBytes);
  if (!head) return tl::unexpected(head.error());
  if (head->empty()) return std::nullopt;
  ByteReader in(*head);
  const std::uint64_t length = in.number<std::uint32_t>();
  const auto sum = in.number<std::uint32_t>();
  Record record;
  record.position = in.number<std::uint64_t>();
  record.end = offset + kRecordHeaderBytes + length;
  if (length > max_record_) return std::nullopt;
  const auto whole = view(offset, kRecordHeaderBytes + length);
  if (!whole) return tl::unexpected(whole.error());
  if (whole->empty()) return std::nullopt;
  record.payload = whole->subspan(kRecordHeaderBytes);
  if (checksum(whole->first(kRecordHeaderBytes), record.payload) != sum) return std::nullopt;
  return record;
}

Outcome<std::optional<std::uint64_t>> SegmentReader::find_record(std::uint64_t offset,
                                                                 std::uint64_t least,
                                                                 std::uint64_t limit) {
  // No file holds more records than bytes: a position further on than that is none of ours.
  limit = std::min(limit, least + std::max(file_bytes_, std::uint64_t{1} << 20));
  std::uint64_t spent = 0;
  for (; offset + kRecordHeaderBytes <= file_bytes_ && spent < kSearchBytes; ++offset) {
    const auto head = view(offset, kRecordHeaderBytes);
    if (!head) return tl::unexpected(head.error());
    if (head->empty()) break;
    const auto length = detail::from_little_endian<std::uint32_t>(head->data());
    const auto position = detail::from_little_endian<std::uint64_t>(head->data() + 8);
    if (position < least || position >= limit || length > max_record_) continue;
    if (length > file_bytes_ - offset - kRecordHeaderBytes) continue;
    spent += length;
    const auto record = record_at(offset);
    if (!record) return tl::unexpected(record.error());
    if (*record) return offset;
  }
  return std::nullopt;
}

Outcome<SegmentScan> scan_segment(const std::filesystem::path& path, std::uint64_t first,
                                  std::uint64_t limit, std::uint64_t max_record) {
  auto reader = SegmentReader::open(path, max_record);
  if (!reader) return tl::unexpected(reader.error());
  const auto header = reader->header();
  if (!header) return tl::unexpected(header.error());
  SegmentScan scan;
  scan.header_good = header->has_value() && (*header)->first == first;
  if (scan.header_good) scan.header = **header;
  scan.next = first;
  scan.file_bytes = reader->file_bytes();
  const bool rescued = scan.header.flags & kSegmentRescued;  // gaps in it were reported before

  for (std::uint64_t offset = kSegmentHeaderBytes;;) {
    const auto record = reader->record_at(offset);
    if (!record) return tl::unexpected(record.error());
    if (*record && (*record)->position >= limit) break;  // of an append that failed
    if (*record && (*record)->position >= scan.next) {
      if (scan.good.empty() || scan.good.back().end != offset)
        scan.good.push_back({offset, offset});
      scan.good.back().end = offset = (*record)->end;
      if (!rescued) scan.missing += (*record)->position - scan.next;
      scan.next = (*record)->position + 1;
      ++scan.records;
      continue;
    }
    const auto found = reader->find_record(offset + 1, scan.next, limit);
    if (!found) return tl::unexpected(found.error());
    if (!*found) break;
    offset = **found;
  }
  return scan;
}

}  // namespace outlierd::store
