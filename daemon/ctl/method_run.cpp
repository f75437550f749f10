#include "daemon/ctl/method_run.h"

#include <cmath>
#include <ctime>

namespace outlierd::ctl {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

Network network_of(const TrafficTable& table) {
  Network network;
  network.name = "replay";
  network.nodes = table.columns.nodes;
  network.bin_seconds = table.bin_seconds;
  return network;
}

tl::expected<MethodRun, std::string> run_method(const std::string& name, const TrafficTable& table,
                                                const baselines::MethodOptions& options) {
  const Network network = network_of(table);
  auto method = baselines::make_method(name, network, options);
  if (!method) return tl::unexpected(method.error());
  std::vector<std::size_t> cells;
  for (const Pair& pair : table.columns.pairs)
    cells.push_back(network.cell(pair.origin, pair.destination));
  MethodRun run;
  run.finds_events = (*method)->finds_events();
  run.scores.columns = cells.size();
  run.scores.values.reserve(cells.size() * table.rows.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    Slice slice(network.shape());
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (!std::isnan(table.rows[row][k])) slice.set(cells[k], table.rows[row][k]);
    const double begin = thread_seconds();
    const SliceReport report = (*method)->process(slice, table.times[row], 0);
    run.seconds += thread_seconds() - begin;
    for (std::size_t cell : cells) run.scores.add(double(report.score[cell]));
    for (const EventUpdate& update : report.events)
      if (update.change == EventChange::kClosed) run.events.push_back(update.event);
  }
  for (Event& event : (*method)->open_events()) run.events.push_back(std::move(event));
  return run;
}

}  // namespace outlierd::ctl
