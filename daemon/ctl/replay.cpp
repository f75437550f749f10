#include "daemon/ctl/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/ctl/progress.h"
#include "daemon/ctl/times.h"
#include "daemon/ctl/traffic_csv.h"

namespace outlierd::ctl {
namespace {

using Json = nlohmann::ordered_json;

Json names_of(const std::vector<int>& indices, const std::vector<std::string>& names) {
  Json list = Json::array();
  for (int index : indices) list.push_back(names[std::size_t(index)]);
  return list;
}

// Which cell of a slice each column of the file is.
tl::expected<std::vector<std::size_t>, std::string> cells_of(const TrafficColumns& columns,
                                                             const Network& network, int metric) {
  std::vector<int> index;
  for (const std::string& node : columns.nodes) {
    const auto found = std::find(network.nodes.begin(), network.nodes.end(), node);
    if (found == network.nodes.end())
      return tl::unexpected("node " + node + " is not one of network " + network.name);
    index.push_back(int(found - network.nodes.begin()));
  }
  std::vector<std::size_t> cells;
  for (const Pair& pair : columns.pairs)
    cells.push_back(network.cell(index[std::size_t(pair.origin)],
                                 index[std::size_t(pair.destination)], metric));
  return cells;
}

// The files that were asked for.
class Outputs {
 public:
  tl::expected<void, std::string> create(const ReplayOptions& options,
                                         const std::vector<std::string>& columns) {
    for (const auto& [path, writer] :
         {std::pair(&options.scores, &scores_), std::pair(&options.expected, &expected_)}) {
      if (path->empty()) continue;
      auto created = TrafficWriter::create(*path, columns);
      if (!created) return tl::unexpected(created.error());
      *writer = std::move(*created);
    }
    if (options.events.empty()) return {};
    auto created = OutputFile::create(options.events);
    if (!created) return tl::unexpected(created.error());
    events_ = std::move(*created);
    return {};
  }

  tl::expected<void, std::string> write(const SliceReport& report,
                                        const std::vector<std::size_t>& cells,
                                        const Network& network) {
    if (auto put = write_row(scores_, report.time, report.score, cells); !put) return put;
    if (auto put = write_row(expected_, report.time, report.expected, cells); !put) return put;
    for (const EventUpdate& update : report.events)
      if (update.change == EventChange::kClosed)
        if (auto put = write(update.event, network); !put) return put;
    return {};
  }

  tl::expected<void, std::string> write(const Event& event, const Network& network) {
    if (!events_) return {};
    return events_->write(event_json(event, network));
  }

  tl::expected<void, std::string> close() {
    if (scores_)
      if (auto closed = scores_->close(); !closed) return closed;
    if (expected_)
      if (auto closed = expected_->close(); !closed) return closed;
    if (events_) return events_->close();
    return {};
  }

 private:
  tl::expected<void, std::string> write_row(std::optional<TrafficWriter>& writer, EpochSeconds time,
                                            const std::vector<float>& values,
                                            const std::vector<std::size_t>& cells) {
    if (!writer) return {};
    row_.clear();
    for (std::size_t cell : cells)
      row_.push_back(cell < values.size() ? values[cell] : std::numeric_limits<float>::quiet_NaN());
    return writer->write(time, std::span<const float>(row_));
  }

  std::optional<TrafficWriter> scores_, expected_;
  std::optional<OutputFile> events_;
  std::vector<float> row_;
};

tl::expected<Network, std::string> network_of(const ReplayOptions& options,
                                              const TrafficReader& reader) {
  if (options.network) {
    if (reader.bin_seconds() && *reader.bin_seconds() != options.network->bin_seconds)
      return tl::unexpected(fmt::format("{}: its bins are of {} s, those of network {} of {} s",
                                        reader.name(), *reader.bin_seconds(), options.network->name,
                                        options.network->bin_seconds));
    return *options.network;
  }
  if (!reader.bin_seconds()) return tl::unexpected(reader.name() + ": has fewer than two rows");
  Network network;
  network.name = "replay";
  network.nodes = reader.columns().nodes;
  network.bin_seconds = *reader.bin_seconds();
  return network;
}

}  // namespace

std::string event_json(const Event& event, const Network& network) {
  Json cells = Json::array();
  for (const EventCell& cell : event.cells)
    cells.push_back({{"origin", network.nodes[std::size_t(cell.origin)]},
                     {"destination", network.nodes[std::size_t(cell.destination)]},
                     {"metric", network.metrics[std::size_t(cell.metric)]},
                     {"observed", cell.observed},
                     {"expected", cell.expected},
                     {"score", cell.score}});
  const Json object = {{"id", event.id},
                       {"network", network.name},
                       {"state", event.open ? "open" : "closed"},
                       {"shape", name_of(event.shape)},
                       {"direction", event.up ? "up" : "down"},
                       {"summary", event.summary},
                       {"since", format_time(event.since)},
                       {"opened", format_time(event.opened)},
                       {"updated", format_time(event.updated)},
                       {"closed", event.closed ? Json(format_time(*event.closed)) : Json()},
                       {"peak_score", event.peak_score},
                       {"excess", event.excess},
                       {"origins", names_of(event.origins, network.nodes)},
                       {"destinations", names_of(event.destinations, network.nodes)},
                       {"cells", std::move(cells)},
                       {"acknowledged", nullptr},
                       {"silenced", false}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

tl::expected<ReplaySummary, std::string> run_replay(
    const ReplayOptions& options,
    const std::function<void(double fraction, std::size_t slices)>& on_progress) {
  auto reader = TrafficReader::open(options.input);
  if (!reader) return tl::unexpected(reader.error());
  const auto network = network_of(options, *reader);
  if (!network) return tl::unexpected(network.error());
  const auto cells = cells_of(reader->columns(), *network, options.metric);
  if (!cells) return tl::unexpected(cells.error());
  if (const std::string problem = options.pipeline.model.problem(); !problem.empty())
    return tl::unexpected(problem);
  if (const std::string problem = model::problem_of(network->shape()); !problem.empty())
    return tl::unexpected(problem);
  auto made = baselines::make_method(options.method, *network, {.pipeline = options.pipeline});
  if (!made) return tl::unexpected(made.error());
  baselines::Method& method = **made;
  if (!options.events.empty() && !method.finds_events())
    return tl::unexpected(options.method +
                          " gives scores, not events: --events needs outlierd or " +
                          "a calibrated method such as ewma+calibrated");
  Outputs outputs;
  if (auto created = outputs.create(options, reader->columns().names); !created)
    return tl::unexpected(created.error());

  ReplaySummary summary;
  summary.finds_events = method.finds_events();
  const double begin = steady_seconds();
  TrafficRow row;
  while (true) {
    const auto got = reader->next(row);
    if (!got) return tl::unexpected(got.error());
    if (!*got) break;
    Slice slice(network->shape());
    for (std::size_t k = 0; k < cells->size(); ++k)
      if (!std::isnan(row.values[k])) slice.set((*cells)[k], row.values[k]);
    const SliceReport report = method.process(slice, row.time, options.local_offset(row.time));
    if (auto written = outputs.write(report, *cells, *network); !written)
      return tl::unexpected(written.error());
    ++summary.slices;
    summary.anomalies += report.anomalies.size();
    summary.events += std::size_t(std::count_if(
        report.events.begin(), report.events.end(),
        [](const EventUpdate& update) { return update.change == EventChange::kOpened; }));
    on_progress(reader->fraction_read(), summary.slices);
  }
  for (const Event& event : method.open_events())
    if (auto written = outputs.write(event, *network); !written)
      return tl::unexpected(written.error());
  if (auto closed = outputs.close(); !closed) return tl::unexpected(closed.error());
  summary.seconds = steady_seconds() - begin;
  summary.days = double(summary.slices) * network->bin_seconds / 86400.0;
  return summary;
}

}  // namespace outlierd::ctl
