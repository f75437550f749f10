// Store::prune: what is too old or too much goes, a bounded piece at a time.

#include <algorithm>
#include <vector>

#include "daemon/store/layouts.h"
#include "daemon/store/store.h"

namespace outlierd::store {
namespace {

constexpr std::int64_t kVacuumPages = 512;  // a call

struct Span {
  std::int64_t network = 0;
  EpochSeconds oldest = 0, newest = 0;
  bool touched = false;
  std::int64_t age() const { return newest - oldest; }
};

std::optional<EpochSeconds> oldest_of(Database& database, std::int64_t network) {
  Query row(database, "SELECT min(time) FROM slices WHERE network = ?");
  return row.bind(network).step() ? row.maybe_integer(0) : std::nullopt;
}

std::vector<Span> spans_of(Database& database) {
  std::vector<Span> spans;
  Query networks(database,
                 "SELECT id, (SELECT max(time) FROM slices WHERE network = n.id) FROM networks n");
  while (networks.step()) {
    const auto newest = networks.maybe_integer(1);
    const auto oldest = oldest_of(database, networks.integer(0));
    if (newest && oldest) spans.push_back({networks.integer(0), *oldest, *newest});
  }
  return spans;
}

std::int64_t remove_events(Database& database, const Span& span) {
  Query(database,
        "DELETE FROM events WHERE network = ? AND NOT open AND opened < ? AND coalesce(closed, "
        "updated) < ?")
      .bind(span.network)
      .bind(span.oldest)
      .bind(span.oldest)
      .run();
  return database.ok() ? database.changes() : 0;
}

// Free pages are taken again by the next slices; they go back to the file system when they are
// many, or keep the file above what it may have.
void give_back(Database& database, std::uint64_t max_bytes) {
  const std::int64_t pages = database.number("PRAGMA page_count");
  const std::int64_t free = database.number("PRAGMA freelist_count");
  const std::int64_t page = database.number("PRAGMA page_size");
  if (free == 0 || (free * 4 < pages && std::uint64_t(pages * page) <= max_bytes)) return;
  Query(database, "PRAGMA incremental_vacuum(" + std::to_string(kVacuumPages) + ")").run();
}

}  // namespace

std::int64_t Store::used_bytes() {
  return (database_.number("PRAGMA page_count") - database_.number("PRAGMA freelist_count")) *
         database_.number("PRAGMA page_size");
}

// How many blocks it had; 0 when there is none.
std::int64_t Store::remove_oldest(std::int64_t network_id) {
  std::int64_t id = 0;
  EpochSeconds time = 0;
  {
    Query row(database_, "SELECT id, time FROM slices WHERE network = ? ORDER BY time LIMIT 1");
    if (!row.bind(network_id).step()) return 0;
    id = row.integer(0);
    time = row.integer(1);
  }
  Query(database_, "DELETE FROM blocks WHERE id BETWEEN ? AND ?")
      .bind(block_id(id, 0))
      .bind(block_id(id, 0xffff))
      .run();
  const std::int64_t blocks = database_.changes();
  Query(database_, "DELETE FROM anomalies WHERE network = ? AND time = ?")
      .bind(network_id)
      .bind(time)
      .run();
  Query(database_, "DELETE FROM slices WHERE id = ?").bind(id).run();
  return std::max<std::int64_t>(blocks, 1);
}

Outcome<PruneResult> Store::prune(std::int64_t keep_seconds, std::uint64_t max_bytes,
                                  std::int64_t most_blocks) {
  PruneResult result;
  {
    Transaction transaction(database_);
    std::vector<Span> spans = spans_of(database_);
    const auto remove_from = [&](Span& span) {
      most_blocks -= std::max<std::int64_t>(1, remove_oldest(span.network));
      ++result.slices;
      span.touched = true;
      span.oldest = oldest_of(database_, span.network).value_or(span.newest);
    };
    for (Span& span : spans)
      while (database_.ok() && span.age() > keep_seconds && most_blocks > 0) remove_from(span);
    const auto longest = [](const Span& x, const Span& y) { return x.age() < y.age(); };
    while (database_.ok() && most_blocks > 0 && !spans.empty()) {
      if (std::uint64_t(used_bytes()) <= max_bytes) break;
      Span& span = *std::max_element(spans.begin(), spans.end(), longest);
      if (span.age() <= 0) break;
      remove_from(span);
    }
    for (const Span& span : spans)
      if (span.touched) result.events += remove_events(database_, span);
    result.more = most_blocks <= 0;
    if (auto done = finish(transaction); !done) return tl::unexpected(done.error());
  }
  give_back(database_, max_bytes);
  result.used_bytes = std::uint64_t(used_bytes());
  result.file_bytes =
      std::uint64_t(database_.number("PRAGMA page_count") * database_.number("PRAGMA page_size"));
  if (auto error = database_.take_error()) return tl::unexpected(*error);
  return result;
}

}  // namespace outlierd::store
