#pragma once
// What is on disk, put together: the journal (journal thread), the database and the snapshots (disk
// thread). Each member says which thread may call it; opening and replay come before the threads.
// A database found damaged while running is set aside and begun anew.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/schema.h"
#include "daemon/store/journal.h"
#include "daemon/store/snapshots.h"
#include "daemon/store/store.h"
#include "daemon/worker/disk_thread.h"
#include "daemon/worker/group_commit.h"

namespace outlierd {

class Storage {
 public:
  // Throws std::runtime_error naming the folder and the reason.
  explicit Storage(const config::Store& settings);

  std::filesystem::path database_path() const { return directory_ / "outlierd.db"; }

  // Before the threads.
  std::optional<store::Snapshot> load_snapshot(const std::string& network);
  void replay(const store::Journal::Visit& visit);
  void skip_to(std::uint64_t position) { journal_.skip_to(position); }

  std::vector<std::byte> load_flows() const;  // as saved; empty: nothing, or nothing that is good

  // Journal thread.
  worker::GroupCommit::Outcome append(const std::vector<worker::GroupCommit::Record>& records);
  void trim(std::uint64_t position);
  std::uint64_t journal_bytes() const { return journal_.bytes(); }

  // Disk thread.
  std::optional<std::string> write(const std::vector<worker::ReportToStore>& reports);
  std::optional<std::string> save_snapshot(const std::string& network,
                                           std::uint64_t journal_position,
                                           EpochSeconds closed_through,
                                           std::span<const std::byte> state);
  // Of the flow side: templates and bins that still run.
  std::optional<std::string> save_flows(std::span<const std::byte> state);
  // Removes what is past its time; the size of the file now.
  std::uint64_t prune();
  // For what an operator did.
  store::Store& database() { return store_; }

 private:
  config::Store settings_;
  std::filesystem::path directory_;
  store::Journal journal_;
  store::Snapshots snapshots_;
  store::Store store_;
};

}  // namespace outlierd
