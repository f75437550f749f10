// The paged lists of Reader. Each goes on from the key of the last row, so that rows added in the
// meantime neither repeat nor hide others.

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "core/byte_stream.h"
#include "daemon/store/cursor.h"
#include "daemon/store/reader.h"
#include "daemon/store/record_codec.h"

namespace outlierd::store {
namespace {

constexpr const char* kEventColumns =
    "SELECT e.id, n.name, e.layout, e.open, e.shape, e.up, e.summary, e.opened, e.updated, "
    "e.closed, e.peak_score, e.excess, e.members, a.time, a.who, a.note, f.time, f.who, f.mark, "
    "f.note, e.since FROM events e JOIN networks n ON n.id = e.network "
    "LEFT JOIN acknowledgements a ON a.event = e.id LEFT JOIN feedback f ON f.event = e.id ";

constexpr const char* kAnomalyColumns =
    "SELECT n.name, o.name, d.name, m.name, a.time, a.observed, a.expected, a.low, a.high, "
    "a.sparse, a.score, a.up, a.event, a.network, a.origin, a.destination, a.metric "
    "FROM anomalies a JOIN networks n ON n.id = a.network JOIN names o ON o.id = a.origin "
    "JOIN names d ON d.id = a.destination JOIN names m ON m.id = a.metric ";
constexpr const char* kAnomalyOrder =
    " ORDER BY a.time DESC, a.network DESC, a.origin DESC, a.destination DESC, a.metric DESC "
    "LIMIT ?";

int limit_of(const PageRequest& page) { return std::clamp(page.limit, 1, kMostItems); }

// The keys of the page's cursor; none for the first page.
Outcome<std::vector<std::string>> keys_of(char kind, std::size_t keys, const PageRequest& page) {
  if (page.cursor.empty()) return std::vector<std::string>();
  return read_cursor(kind, keys, page.cursor);
}

// Conditions that all hold. Those with a number come first: bind_to binds them in that order.
class Conditions {
 public:
  void add(const std::string& condition) {
    text_ += (text_.empty() ? "WHERE " : " AND ") + condition;
  }
  void add(const std::string& condition, std::int64_t value) {
    add(condition);
    values_.push_back(value);
  }
  const std::string& text() const { return text_; }
  void bind_to(Query& query) const {
    for (std::int64_t value : values_) query.bind(value);
  }

 private:
  std::string text_;
  std::vector<std::int64_t> values_;
};

std::string anomaly_id(const StoredAnomaly& anomaly) {
  std::string key = std::to_string(anomaly.time);
  for (const std::string* part :
       {&anomaly.network, &anomaly.origin, &anomaly.destination, &anomaly.metric})
    key += '\0' + *part;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(crc64(std::as_bytes(std::span(key)))));
  return text.data();
}

StoredAnomaly anomaly_of(const Query& row) {
  StoredAnomaly anomaly;
  anomaly.network = row.text(0);
  anomaly.origin = row.text(1);
  anomaly.destination = row.text(2);
  anomaly.metric = row.text(3);
  anomaly.time = row.integer(4);
  anomaly.observed = row.real(5);
  anomaly.expected = row.real(6);
  anomaly.low = row.real(7);
  anomaly.high = row.real(8);
  anomaly.sparse = row.real(9);
  anomaly.score = row.real(10);
  anomaly.up = row.integer(11) != 0;
  anomaly.event = row.text(12);
  anomaly.id = anomaly_id(anomaly);
  return anomaly;
}

}  // namespace

Outcome<Page<StoredAnomaly>> Reader::anomalies(const AnomalyFilter& filter,
                                               const PageRequest& page) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  const auto after = keys_of('a', 5, page);
  if (!after) return tl::unexpected(after.error());
  Conditions where;
  if (filter.network) where.add("a.network = ?", id_of("networks", *filter.network).value_or(-1));
  if (filter.origin) where.add("a.origin = ?", id_of("names", *filter.origin).value_or(-1));
  if (filter.destination)
    where.add("a.destination = ?", id_of("names", *filter.destination).value_or(-1));
  if (filter.from) where.add("a.time >= ?", *filter.from);
  if (filter.to) where.add("a.time < ?", *filter.to);
  if (!after->empty())
    where.add("(a.time, a.network, a.origin, a.destination, a.metric) < (?, ?, ?, ?, ?)");
  where.add("a.score >= ?");
  Query row(database_, kAnomalyColumns + where.text() + kAnomalyOrder);
  where.bind_to(row);
  for (const std::string& key : *after) row.bind(number_of(key));
  const int limit = limit_of(page);
  row.bind(filter.min_score).bind(limit + 1);
  Page<StoredAnomaly> found;
  std::vector<std::string> key;
  while (row.step()) {
    if (int(found.items.size()) == limit) {
      found.next = make_cursor('a', key);
      break;
    }
    found.items.push_back(anomaly_of(row));
    key.clear();
    for (int column : {4, 13, 14, 15, 16}) key.push_back(std::to_string(row.integer(column)));
  }
  return finish(std::move(found));
}

StoredEvent Reader::event_of(const Query& row) {
  StoredEvent event;
  event.id = row.text(0);
  event.network = row.text(1);
  event.open = row.integer(3) != 0;
  event.shape = stored_shape(row.text(4)).value_or(Shape::kSpike);
  event.up = row.integer(5) != 0;
  event.summary = row.text(6);
  event.opened = row.integer(7);
  event.updated = row.integer(8);
  event.closed = row.maybe_integer(9);
  event.since = row.maybe_integer(20).value_or(event.opened);
  event.peak_score = row.real(10);
  event.excess = row.real(11);
  if (!row.is_null(13))
    event.acknowledged = Acknowledgement{row.text(14), row.text(15), row.integer(13)};
  if (!row.is_null(16))
    event.feedback = Feedback{row.text(18), row.text(17), row.text(19), row.integer(16)};
  const Layout* known = layout(row.integer(2));
  Event members;
  if (!known || !decode_members(row.blob(12), known->network.nodes.size(),
                                known->network.metrics.size(), members))
    return event;
  const auto& nodes = known->network.nodes;
  for (int place : members.origins) event.origins.push_back(nodes[place]);
  for (int place : members.destinations) event.destinations.push_back(nodes[place]);
  event.cells.reserve(members.cells.size());
  for (const EventCell& cell : members.cells)
    event.cells.push_back({nodes[cell.origin], nodes[cell.destination],
                           known->network.metrics[cell.metric], cell.observed, cell.expected,
                           cell.score});
  return event;
}

Outcome<Page<StoredEvent>> Reader::events(const EventFilter& filter, const PageRequest& page) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  const auto after = keys_of('e', 2, page);
  if (!after) return tl::unexpected(after.error());
  Conditions where;
  if (filter.network) where.add("e.network = ?", id_of("networks", *filter.network).value_or(-1));
  if (filter.open) where.add("e.open = ?", *filter.open);
  if (filter.from) where.add("(e.closed IS NULL OR e.closed >= ?)", *filter.from);
  if (filter.to) where.add("e.opened < ?", *filter.to);
  if (!after->empty()) where.add("(e.opened, e.id) < (?, ?)");
  if (filter.shape) where.add("e.shape = ?");
  Query row(database_, kEventColumns + where.text() + " ORDER BY e.opened DESC, e.id DESC LIMIT ?");
  where.bind_to(row);
  if (!after->empty()) row.bind(number_of((*after)[0])).bind((*after)[1]);
  if (filter.shape) row.bind(std::string_view(stored_word(*filter.shape)));
  const int limit = limit_of(page);
  row.bind(limit + 1);
  Page<StoredEvent> found;
  while (row.step()) {
    if (int(found.items.size()) == limit) {
      const StoredEvent& last = found.items.back();
      found.next = make_cursor('e', {std::to_string(last.opened), last.id});
      break;
    }
    found.items.push_back(event_of(row));
  }
  return finish(std::move(found));
}

Outcome<StoredEvent> Reader::event(const std::string& id) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  Query row(database_, kEventColumns + std::string("WHERE e.id = ?"));
  const bool found = row.bind(id).step();
  if (auto error = database_.take_error()) return tl::unexpected(*error);
  if (!found) return failure(StoreError::Kind::kNotFound, "there is no event " + id);
  return finish(event_of(row));
}

Outcome<Page<Silence>> Reader::silences(std::optional<EpochSeconds> at, const PageRequest& page) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  const auto after = keys_of('s', 2, page);
  if (!after) return tl::unexpected(after.error());
  Conditions where;
  if (!after->empty()) where.add("(created, id) < (?, ?)");
  if (at) where.add("expired IS NULL AND ends > ?");
  Query row(database_,
            "SELECT id, network, origin, destination, node, shape, starts, ends, author, comment, "
            "created, expired FROM silences " +
                where.text() + " ORDER BY created DESC, id DESC LIMIT ?");
  if (!after->empty()) row.bind(number_of((*after)[0])).bind((*after)[1]);
  if (at) row.bind(*at);
  const int limit = limit_of(page);
  row.bind(limit + 1);
  Page<Silence> found;
  while (row.step()) {
    if (int(found.items.size()) == limit) {
      const Silence& last = found.items.back();
      found.next = make_cursor('s', {std::to_string(last.created), last.id});
      break;
    }
    found.items.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.text(4),
                           row.text(5), row.integer(6), row.integer(7), row.text(8), row.text(9),
                           row.integer(10), row.maybe_integer(11)});
  }
  return finish(std::move(found));
}

Outcome<Page<AuditEntry>> Reader::audit(const PageRequest& page) {
  if (auto ready = refresh(); !ready) return tl::unexpected(ready.error());
  const auto after = keys_of('u', 1, page);
  if (!after) return tl::unexpected(after.error());
  const std::int64_t before =
      after->empty() ? std::numeric_limits<std::int64_t>::max() : number_of(after->front());
  const int limit = limit_of(page);
  Query row(database_,
            "SELECT id, time, who, action, target, details FROM audit WHERE id < ? "
            "ORDER BY id DESC LIMIT ?");
  row.bind(before).bind(limit + 1);
  Page<AuditEntry> found;
  std::int64_t last = 0;
  while (row.step()) {
    if (int(found.items.size()) == limit) {
      found.next = make_cursor('u', {std::to_string(last)});
      break;
    }
    last = row.integer(0);
    found.items.push_back({row.integer(1), row.text(2), row.text(3), row.text(4), row.text(5)});
  }
  return finish(std::move(found));
}

}  // namespace outlierd::store
