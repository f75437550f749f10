#include "daemon/store/snapshots.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "core/byte_stream.h"
#include "daemon/store/file.h"

namespace outlierd::store {
namespace fs = std::filesystem;
namespace {

constexpr std::array<char, 8> kSnapshotMagic = {'O', 'U', 'T', 'L', 'S', 'N', 'A', 'P'};
constexpr std::uint32_t kSnapshotVersion = 1;
constexpr std::size_t kFixedBytes = 48;  // before the name
constexpr std::size_t kKept = 2;
constexpr std::size_t kLongestName = 120;
constexpr std::uint32_t kLongestNetwork = 1 << 16;
constexpr const char* kSnapshotSuffix = ".snapshot";
constexpr const char* kTemporary = ".tmp";

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::vector<std::byte> head_of(const std::string& network, std::uint64_t journal_position,
                               std::int64_t closed_through, std::span<const std::byte> state) {
  ByteWriter out;
  out.numbers(std::span<const char>(kSnapshotMagic));
  out.number(kSnapshotVersion);
  out.number(std::uint32_t(network.size()));
  out.number(std::uint64_t(state.size()));
  out.number(crc64(state));
  out.number(journal_position);
  out.number(closed_through);
  out.numbers(std::span<const char>(network));
  std::vector<std::byte> head = out.take();
  ByteWriter sum;
  sum.number(crc64(head));
  const auto tail = sum.take();
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

struct Read {
  std::string network;
  std::optional<Snapshot> snapshot;  // nothing: damaged
};

Outcome<Read> read_snapshot(const fs::path& path, bool with_state) {
  const auto file = File::open(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  const auto size = file->size();
  if (!size) return tl::unexpected(size.error());
  std::vector<std::byte> head(kFixedBytes);
  auto got = file->read_at(head, 0);
  if (!got) return tl::unexpected(got.error());
  ByteReader in(std::span<const std::byte>(head).first(*got));
  std::array<char, 8> magic{};
  in.numbers(std::span<char>(magic));
  const auto version = in.number<std::uint32_t>();
  const auto name_length = in.number<std::uint32_t>();
  const auto length = in.number<std::uint64_t>();
  const auto state_sum = in.number<std::uint64_t>();
  Snapshot snapshot;
  snapshot.journal_position = in.number<std::uint64_t>();
  snapshot.closed_through = in.number<std::int64_t>();
  if (in.failed() || magic != kSnapshotMagic || name_length > kLongestNetwork) return Read{};

  head.resize(kFixedBytes + name_length + 8);
  got = file->read_at(head, 0);
  if (!got) return tl::unexpected(got.error());
  const std::span<const std::byte> all(head);
  if (*got < head.size() || detail::from_little_endian<std::uint64_t>(
                                head.data() + head.size() - 8) != crc64(all.first(all.size() - 8)))
    return Read{};
  if (version != kSnapshotVersion)
    return failure(StoreError::Kind::kNewer,
                   path.string() + " is of version " + std::to_string(version) +
                       ", this outlierd knows " + std::to_string(kSnapshotVersion));
  Read read;
  read.network.assign(reinterpret_cast<const char*>(head.data()) + kFixedBytes, name_length);
  if (*size < head.size() || length != *size - head.size()) return read;
  if (with_state) {
    snapshot.state.resize(length);
    got = file->read_at(snapshot.state, head.size());
    if (!got) return tl::unexpected(got.error());
    if (*got != length || crc64(snapshot.state) != state_sum) return read;
  }
  read.snapshot = std::move(snapshot);
  return read;
}

}  // namespace

std::string file_name_of(const std::string& network) {
  std::string name;
  for (char c : network) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (plain) {
      name += c;
      continue;
    }
    std::array<char, 4> text{};
    std::snprintf(text.data(), text.size(), "%%%02X", unsigned(static_cast<unsigned char>(c)));
    name += text.data();
  }
  if (name.empty()) return "%";
  if (name.size() <= kLongestName) return name;
  return name.substr(0, kLongestName - 17) + "~" + hex(crc64(std::as_bytes(std::span(network))));
}

Outcome<Snapshots> Snapshots::open(const fs::path& directory) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  const auto names = list_directory(directory);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names)
    if (name.ends_with(kTemporary)) (void)remove_file(directory / name);
  return Snapshots(directory);
}

Outcome<std::vector<Snapshots::Entry>> Snapshots::entries(const std::string& network) const {
  const auto names = list_directory(directory_);
  if (!names) return tl::unexpected(names.error());
  const std::string prefix = file_name_of(network) + ".";
  std::vector<Entry> found;  // the numbers are of equal length: sorted by name is by number
  for (const std::string& name : *names) {
    if (name.size() != prefix.size() + 16 + std::string(kSnapshotSuffix).size()) continue;
    if (!name.starts_with(prefix) || !name.ends_with(kSnapshotSuffix)) continue;
    const std::string digits = name.substr(prefix.size(), 16);
    if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) continue;
    found.push_back({std::stoull(digits, nullptr, 16), directory_ / name});
  }
  return found;
}

Outcome<void> Snapshots::save(const std::string& network, std::uint64_t journal_position,
                              std::int64_t closed_through, std::span<const std::byte> state) {
  if (network.size() > kLongestNetwork)
    return failure(StoreError::Kind::kInvalid, "a network's name is too long for a snapshot");
  const auto existing = entries(network);
  if (!existing) return tl::unexpected(existing.error());
  const std::uint64_t number = existing->empty() ? 1 : existing->back().number + 1;
  const fs::path path = directory_ / (file_name_of(network) + "." + hex(number) + kSnapshotSuffix);
  const fs::path temporary = path.string() + kTemporary;

  auto file = File::open(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return tl::unexpected(file.error());
  const auto head = head_of(network, journal_position, closed_through, state);
  auto done = file->write_at(head, 0);
  if (done) done = file->write_at(state, head.size());
  if (done) done = file->sync();
  if (done) done = rename_file(temporary, path);
  if (done) done = sync_directory(directory_);
  if (!done) {
    (void)remove_file(temporary);
    return done;
  }
  for (std::size_t i = 0; i + kKept <= existing->size(); ++i)
    if (auto removed = remove_file((*existing)[i].path); !removed) return removed;
  return {};
}

Outcome<LoadedSnapshot> Snapshots::load(const std::string& network) {
  auto existing = entries(network);
  if (!existing) return tl::unexpected(existing.error());
  LoadedSnapshot loaded;
  for (; !existing->empty(); existing->pop_back()) {
    const fs::path& path = existing->back().path;
    auto read = read_snapshot(path, true);
    if (!read) return tl::unexpected(read.error());
    if (read->snapshot && read->network == network) {
      loaded.snapshot = std::move(read->snapshot);
      break;
    }
    const fs::path aside = unused_name(path.string() + ".damaged");
    if (auto renamed = rename_file(path, aside); !renamed) return tl::unexpected(renamed.error());
    loaded.set_aside.push_back(aside.string());
  }
  if (!loaded.set_aside.empty())
    if (auto synced = sync_directory(directory_); !synced) return tl::unexpected(synced.error());
  return loaded;
}

Outcome<std::vector<std::string>> Snapshots::networks() const {
  const auto names = list_directory(directory_);
  if (!names) return tl::unexpected(names.error());
  std::set<std::string> networks;
  for (const std::string& name : *names) {
    if (!name.ends_with(kSnapshotSuffix)) continue;
    const auto read = read_snapshot(directory_ / name, false);
    if (read && read->snapshot) networks.insert(read->network);
  }
  return std::vector<std::string>(networks.begin(), networks.end());
}

Outcome<void> Snapshots::remove(const std::string& network) {
  const auto existing = entries(network);
  if (!existing) return tl::unexpected(existing.error());
  for (const Entry& entry : *existing)
    if (auto removed = remove_file(entry.path); !removed) return removed;
  return existing->empty() ? Outcome<void>{} : sync_directory(directory_);
}

}  // namespace outlierd::store
