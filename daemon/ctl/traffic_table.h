#pragma once
// A stretch of a traffic file, whole in memory.

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/ctl/traffic_csv.h"

namespace outlierd::ctl {

struct TrafficTable {
  TrafficColumns columns;
  std::vector<EpochSeconds> times;
  std::vector<std::vector<double>> rows;  // NaN: not observed
  int bin_seconds = 0;
};

// From `start` (none: the first row) on; days 0: to the end.
struct StretchOf {
  std::optional<EpochSeconds> start;
  double days = 0.0;
};

template <class OnProgress>  // (fraction of the file, rows taken)
tl::expected<TrafficTable, std::string> read_traffic(const std::string& path,
                                                     const StretchOf& stretch,
                                                     const OnProgress& on_progress) {
  auto reader = TrafficReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  if (!reader->bin_seconds()) return tl::unexpected(reader->name() + ": has fewer than two rows");
  TrafficTable table{reader->columns(), {}, {}, *reader->bin_seconds()};
  TrafficRow row;
  std::optional<EpochSeconds> first = stretch.start;
  while (true) {
    const auto got = reader->next(row);
    if (!got) return tl::unexpected(got.error());
    if (!*got) break;
    if (!first) first = row.time;
    if (row.time < *first) continue;
    if (stretch.days > 0 && double(row.time - *first) >= stretch.days * 86400.0) break;
    table.times.push_back(row.time);
    table.rows.push_back(row.values);
    on_progress(reader->fraction_read(), table.rows.size());
  }
  if (table.rows.empty()) return tl::unexpected(reader->name() + ": no rows in that stretch");
  return table;
}

inline tl::expected<TrafficTable, std::string> read_traffic(const std::string& path,
                                                            const StretchOf& stretch = {}) {
  return read_traffic(path, stretch, [](double, std::size_t) {});
}

}  // namespace outlierd::ctl
