#include "daemon/storage.h"

#include <stdexcept>

#include "daemon/log.h"

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

std::uint64_t Storage::prune() {
  const auto pruned = store_.prune(settings_.keep.count(), settings_.max_size);
  if (pruned) return pruned->file_bytes;
  log::warn("prune_failed", {{"reason", pruned.error().message}});
  return 0;
}

}  // namespace outlierd
