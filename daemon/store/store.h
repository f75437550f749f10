#pragma once
// History, anomalies, events and what operators did about them, in one SQLite file (WAL, every
// commit durable). The only writer; reader.h answers questions.
//
// All writes may be repeated: re-processing a slice gives the same rows, and never undoes what an
// operator did or reopens an event. After an error nothing of that call is kept, and the same call
// may be tried again. kDamaged: open again, with thorough_check.
//
// Not thread-safe; one object, one thread at a time. Reads no clock.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/store/cell_codec.h"
#include "daemon/store/database.h"
#include "daemon/store/error.h"
#include "daemon/store/records.h"

namespace outlierd::store {

struct StoreOptions {
  bool thorough_check = false;                                 // of the whole file, indices too
  std::uint64_t check_up_to_bytes = std::uint64_t{256} << 20;  // a larger one is not read through
  int busy_milliseconds = 5000;
};

struct StoreRecovery {
  std::string set_aside;  // where a damaged database is now; empty: there was none
  std::string reason;
  int migrated_from = 0;  // the schema it had; 0 for a new one
};

struct SliceToStore {
  const Network* network = nullptr;
  const SliceReport* report = nullptr;
};

struct PruneResult {
  std::int64_t slices = 0, events = 0;           // removed
  std::uint64_t used_bytes = 0, file_bytes = 0;  // now; without the write-ahead log
  bool more = false;                             // the work of one call was not enough
};

class Store {
 public:
  static Outcome<Store> open(const std::filesystem::path& path, StoreOptions options = {});
  const StoreRecovery& recovery() const { return recovery_; }

  // One transaction for all of them.
  Outcome<void> write(std::span<const SliceToStore> batch);

  // Operators' actions; each leaves a line in the audit trail. kNotFound: no such event or silence.
  Outcome<void> acknowledge(const std::string& event, const Acknowledgement& acknowledgement);
  Outcome<void> mark(const std::string& event, const Feedback& feedback);  // an empty mark unmarks
  Outcome<void> add_silence(const Silence& silence);                       // kExists: that id is
  Outcome<void> expire_silence(const std::string& id, const std::string& by, EpochSeconds time);
  Outcome<void> audit(const AuditEntry& entry);

  // Removes slices older than keep_seconds before the newest of their network, then the oldest
  // (by age before the newest of their network) until the file holds no more than max_bytes; with
  // them their anomalies and the events closed before what is left. Open events and the newest
  // slice stay. At most `most_blocks` blocks a call (a slice up to 128 nodes is one).
  Outcome<PruneResult> prune(std::int64_t keep_seconds, std::uint64_t max_bytes,
                             std::int64_t most_blocks = 1000);

  // Whether a transaction reaches the disk, by making one.
  Outcome<void> writable();

 private:
  Store(Database database, StoreRecovery recovery)
      : database_(std::move(database)), recovery_(std::move(recovery)) {}
  Outcome<void> check(const SliceToStore& item) const;
  void write_slice(const SliceToStore& item);
  std::int64_t write_summary(std::int64_t network, std::int64_t layout, const SliceReport& report);
  void write_totals(std::int64_t slice, const Network& network, const SliceReport& report);
  void write_cells(std::int64_t slice, const Network& network, const SliceReport& report);
  void write_anomalies(std::int64_t network_id, const Network& network, const SliceReport& report);
  void write_event(std::int64_t network_id, std::int64_t layout, const Event& event);
  void write_audit(const AuditEntry& entry);
  bool has_event(const std::string& event);
  std::int64_t network_id(const std::string& name);
  std::int64_t name_id(const std::string& name);
  std::int64_t layout_id(std::int64_t network_id, const Network& network);
  std::int64_t remove_oldest(std::int64_t network_id);
  std::int64_t used_bytes();
  Outcome<void> finish(class Transaction& transaction);

  Database database_;
  StoreRecovery recovery_;
  CellCodec codec_;
  std::vector<float> unknown_;  // NaN, for what a report left out
  // What is in the tables; emptied when a transaction fails.
  std::unordered_map<std::string, std::int64_t> networks_, names_;
  std::unordered_map<std::int64_t, std::pair<Network, std::int64_t>> layouts_;
};

}  // namespace outlierd::store
