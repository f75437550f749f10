// Store::write: a report becomes rows.

#include <algorithm>
#include <array>
#include <limits>

#include "core/detect/totals.h"
#include "daemon/store/layouts.h"
#include "daemon/store/record_codec.h"
#include "daemon/store/store.h"

namespace outlierd::store {
namespace {

std::array<const std::vector<float>*, kCellValues> arrays_of(const SliceReport& report) {
  return {&report.observed, &report.expected, &report.low,
          &report.high,     &report.sparse,   &report.score};
}

}  // namespace

Outcome<void> Store::write(std::span<const SliceToStore> batch) {
  for (const SliceToStore& item : batch)
    if (auto checked = check(item); !checked) return checked;
  Transaction transaction(database_);
  for (const SliceToStore& item : batch) {
    if (!database_.ok()) break;
    write_slice(item);
  }
  return finish(transaction);
}

Outcome<void> Store::check(const SliceToStore& item) const {
  const Network& network = *item.network;
  const std::size_t cells = cell_count(network.shape());
  const auto refuse = [&](const std::string& why) {
    return failure(StoreError::Kind::kInvalid, "a slice of " + network.name + " " + why);
  };
  for (const std::vector<float>* values : arrays_of(*item.report))
    if (!values->empty() && values->size() != cells)
      return refuse("has " + std::to_string(values->size()) + " cells instead of " +
                    std::to_string(cells));
  const auto is_node = [&](int node) {
    return node >= 0 && std::size_t(node) < network.nodes.size();
  };
  const auto is_cell = [&](const auto& cell) {
    return is_node(cell.origin) && is_node(cell.destination) && cell.metric >= 0 &&
           std::size_t(cell.metric) < network.metrics.size();
  };
  const auto all = [](const auto& list, const auto& good) {
    return std::all_of(list.begin(), list.end(), good);
  };
  if (!all(item.report->anomalies, is_cell)) return refuse("has an anomaly outside of it");
  for (const EventUpdate& update : item.report->events)
    if (!all(update.event.cells, is_cell) || !all(update.event.origins, is_node) ||
        !all(update.event.destinations, is_node))
      return refuse("has an event outside of it");
  return {};
}

void Store::write_slice(const SliceToStore& item) {
  const SliceReport& report = *item.report;
  const std::int64_t network = network_id(item.network->name);
  const std::int64_t layout = layout_id(network, *item.network);
  const std::int64_t slice = write_summary(network, layout, report);
  write_totals(slice, *item.network, report);
  write_cells(slice, *item.network, report);
  write_anomalies(network, *item.network, report);
  for (const EventUpdate& update : report.events) write_event(network, layout, update.event);
}

std::int64_t Store::write_summary(std::int64_t network, std::int64_t layout,
                                  const SliceReport& report) {
  std::int64_t id = 0;
  {
    Query known(database_, "SELECT id FROM slices WHERE network = ? AND time = ?");
    if (known.bind(network).bind(report.time).step()) id = known.integer(0);
  }
  if (id != 0) {  // written before: everything of it is written anew
    Query(database_, "DELETE FROM blocks WHERE id BETWEEN ? AND ?")
        .bind(block_id(id, 0))
        .bind(block_id(id, 0xffff))
        .run();
    Query(database_, "DELETE FROM anomalies WHERE network = ? AND time = ?")
        .bind(network)
        .bind(report.time)
        .run();
    Query(database_, "DELETE FROM slices WHERE id = ?").bind(id).run();
  }
  const std::vector<std::byte> strengths = encode_numbers(report.model.component_strengths);
  Query(database_, "INSERT INTO slices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(id != 0 ? std::optional(id) : std::nullopt)
      .bind(network)
      .bind(report.time)
      .bind(layout)
      .bind(report.warmup)
      .bind(report.threshold)
      .bind(report.open_events)
      .bind(report.model.status)
      .bind(report.model.rank)
      .bind(report.model.iterations)
      .bind(report.model.noise_precision)
      .bind(report.model.evidence_bound)
      .bind(strengths)
      .run();
  return database_.last_id();
}

void Store::write_totals(std::int64_t slice, const Network& network, const SliceReport& report) {
  const std::size_t metrics = network.metrics.size();
  for (std::size_t metric = 0; metric < metrics; ++metric) {
    const SliceTotal total = total_of(report, metrics, metric);
    Query(database_, "INSERT INTO totals VALUES (?, ?, ?, ?)")
        .bind(slice)
        .bind(std::int64_t(metric))
        .bind(total.observed)
        .bind(total.expected)
        .run();
  }
}

void Store::write_cells(std::int64_t slice, const Network& network, const SliceReport& report) {
  Layout layout{network, 1};
  layout.block_rows =
      int(std::max<std::size_t>(1, kBlockCells / std::max<std::size_t>(1, layout.row_cells())));
  unknown_.resize(std::max(unknown_.size(), layout.row_cells() * std::size_t(layout.block_rows)),
                  std::numeric_limits<float>::quiet_NaN());
  const auto arrays = arrays_of(report);
  for (int block = 0; block < layout.blocks(); ++block) {
    const std::size_t begin = std::size_t(layout.first_row(block)) * layout.row_cells();
    const std::size_t cells = std::size_t(layout.last_row(block)) * layout.row_cells() - begin;
    std::array<std::span<const float>, kCellValues> values;
    for (std::size_t which = 0; which < values.size(); ++which)
      values[which] = arrays[which]->empty()
                          ? std::span<const float>(unknown_).first(cells)
                          : std::span<const float>(*arrays[which]).subspan(begin, cells);
    Query(database_, "INSERT INTO blocks VALUES (?, ?)")
        .bind(block_id(slice, block))
        .bind(codec_.encode(values))
        .run();
  }
}

void Store::write_anomalies(std::int64_t network_id, const Network& network,
                            const SliceReport& report) {
  for (const Anomaly& anomaly : report.anomalies) {
    const std::int64_t origin = name_id(network.nodes[anomaly.origin]);
    const std::int64_t destination = name_id(network.nodes[anomaly.destination]);
    const std::int64_t metric = name_id(network.metrics[anomaly.metric]);
    Query(database_,
          "INSERT OR REPLACE INTO anomalies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(report.time)
        .bind(network_id)
        .bind(origin)
        .bind(destination)
        .bind(metric)
        .bind(anomaly.observed)
        .bind(anomaly.expected)
        .bind(anomaly.low)
        .bind(anomaly.high)
        .bind(anomaly.sparse)
        .bind(anomaly.score)
        .bind(anomaly.up)
        .bind(anomaly.event)
        .run();
  }
}

// A state counts if it is newer than the stored one, or of the same bin and does not reopen it.
void Store::write_event(std::int64_t network_id, std::int64_t layout, const Event& event) {
  const std::vector<std::byte> members = encode_members(event);
  Query(database_,
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET layout = excluded.layout, open = excluded.open, "
        "shape = excluded.shape, up = excluded.up, summary = excluded.summary, "
        "updated = excluded.updated, closed = excluded.closed, peak_score = excluded.peak_score, "
        "excess = excluded.excess, members = excluded.members "
        "WHERE excluded.updated > updated OR "
        "(excluded.updated = updated AND (open OR NOT excluded.open))")
      .bind(event.id)
      .bind(network_id)
      .bind(layout)
      .bind(event.open)
      .bind(std::string_view(stored_word(event.shape)))
      .bind(event.up)
      .bind(event.summary)
      .bind(event.opened)
      .bind(event.updated)
      .bind(event.closed)
      .bind(event.peak_score)
      .bind(event.excess)
      .bind(members)
      .bind(event.since)
      .run();
}

std::int64_t Store::network_id(const std::string& name) {
  const auto known = networks_.find(name);
  if (known != networks_.end()) return known->second;
  return networks_[name] = intern(database_, "networks", name);
}

std::int64_t Store::name_id(const std::string& name) {
  const auto known = names_.find(name);
  if (known != names_.end()) return known->second;
  return names_[name] = intern(database_, "names", name);
}

std::int64_t Store::layout_id(std::int64_t network_id, const Network& network) {
  const auto known = layouts_.find(network_id);
  if (known != layouts_.end() && known->second.first == network) return known->second.second;
  const std::int64_t id = intern_layout(database_, network_id, network);
  layouts_[network_id] = {network, id};
  return id;
}

}  // namespace outlierd::store
