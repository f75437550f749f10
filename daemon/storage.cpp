#include "daemon/storage.h"

#include <fcntl.h>

#include <stdexcept>

#include "core/byte_stream.h"
#include "daemon/log.h"
#include "daemon/store/file.h"

namespace outlierd {
namespace {

template <class T>
T opened(store::Outcome<T> outcome, const std::filesystem::path& path) {
  if (!outcome)
    throw std::runtime_error("cannot open " + path.string() + ": " + outcome.error().message);
  return std::move(*outcome);
}

std::filesystem::path made(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw std::runtime_error("cannot create " + directory.string() + ": " + error.message());
  return directory;
}

void report(const store::JournalRecovery& recovery) {
  if (recovery.torn_bytes > 0)
    log::info("journal_end_cut", {{"bytes", std::to_string(recovery.torn_bytes)}});
  for (const std::string& file : recovery.damaged_files)
    log::error("journal_damaged",
               {{"kept_as", file}, {"records_lost", std::to_string(recovery.lost_records)}});
}

void report(const store::StoreRecovery& recovery) {
  if (!recovery.set_aside.empty())
    log::error("store_damaged", {{"kept_as", recovery.set_aside}, {"reason", recovery.reason}});
}

}  // namespace

Storage::Storage(const config::Store& settings)
    : settings_(settings),
      directory_(made(settings.path)),
      journal_(opened(store::Journal::open(directory_ / "journal"), directory_ / "journal")),
      snapshots_(opened(store::Snapshots::open(directory_ / "models"), directory_ / "models")),
      store_(opened(store::Store::open(database_path()), database_path())) {
  report(journal_.recovery());
  report(store_.recovery());
}

std::optional<store::Snapshot> Storage::load_snapshot(const std::string& network) {
  auto loaded = snapshots_.load(network);
  if (!loaded) {
    log::error("snapshot_unreadable", {{"network", network}, {"reason", loaded.error().message}});
    return std::nullopt;
  }
  for (const std::string& file : loaded->set_aside)
    log::error("snapshot_damaged", {{"network", network}, {"kept_as", file}});
  return std::move(loaded->snapshot);
}

void Storage::replay(const store::Journal::Visit& visit) {
  const auto replayed = journal_.replay(0, visit);
  if (!replayed) throw std::runtime_error("cannot read the journal: " + replayed.error().message);
}

worker::GroupCommit::Outcome Storage::append(
    const std::vector<worker::GroupCommit::Record>& records) {
  const std::vector<std::span<const std::byte>> payloads(records.begin(), records.end());
  const auto first = journal_.append(payloads);
  if (!first) return {std::nullopt, first.error().message};
  return {*first, ""};
}

void Storage::trim(std::uint64_t position) {
  if (const auto trimmed = journal_.trim(position); !trimmed)
    log::warn("journal_trim_failed", {{"reason", trimmed.error().message}});
}

std::optional<std::string> Storage::write(const std::vector<worker::ReportToStore>& reports) {
  std::vector<store::SliceToStore> batch;
  for (const worker::ReportToStore& one : reports)
    batch.push_back({one.network.get(), one.report.get()});
  const auto written = store_.write(batch);
  if (written) return std::nullopt;
  if (written.error().kind == store::StoreError::Kind::kDamaged) {
    auto anew = store::Store::open(database_path(), {.thorough_check = true});
    if (anew) {
      store_ = std::move(*anew);
      report(store_.recovery());
    }
  }
  return written.error().message;
}

std::optional<std::string> Storage::save_snapshot(const std::string& network,
                                                  std::uint64_t journal_position,
                                                  EpochSeconds closed_through,
                                                  std::span<const std::byte> state) {
  const auto saved = snapshots_.save(network, journal_position, closed_through, state);
  if (saved) return std::nullopt;
  return saved.error().message;
}

std::optional<std::string> Storage::save_flows(std::span<const std::byte> state) {
  const std::filesystem::path path = directory_ / "flows.state", fresh = directory_ / "flows.new";
  ByteWriter sum;
  sum.number(crc64(state));
  const std::vector<std::byte> head = sum.take();
  auto file = store::File::open(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return file.error().message;
  if (const auto done = file->write_at(head, 0); !done) return done.error().message;
  if (const auto done = file->write_at(state, head.size()); !done) return done.error().message;
  if (const auto done = file->sync(); !done) return done.error().message;
  if (const auto done = store::rename_file(fresh, path); !done) return done.error().message;
  return std::nullopt;
}

std::vector<std::byte> Storage::load_flows() const {
  const std::filesystem::path path = directory_ / "flows.state";
  if (!std::filesystem::exists(path)) return {};
  const auto refuse = [&](const std::string& reason) {
    log::warn("flow_state_refused", {{"reason", reason}});
    return std::vector<std::byte>();
  };
  const auto file = store::File::open(path, O_RDONLY);
  if (!file) return refuse(file.error().message);
  const auto size = file->size();
  if (!size) return refuse(size.error().message);
  std::vector<std::byte> bytes(*size);
  const auto read = file->read_at(bytes, 0);
  if (!read || *read != bytes.size() || bytes.size() < 8) return refuse("cannot be read whole");
  ByteReader head{std::span<const std::byte>(bytes).first(8)};
  if (head.number<std::uint64_t>() != crc64(std::span(bytes).subspan(8)))
    return refuse("is damaged");
  bytes.erase(bytes.begin(), bytes.begin() + 8);
  return bytes;
}

std::uint64_t Storage::prune() {
  const auto pruned = store_.prune(settings_.keep.count(), settings_.max_size);
  if (pruned) return pruned->file_bytes;
  log::warn("prune_failed", {{"reason", pruned.error().message}});
  return 0;
}

}  // namespace outlierd
