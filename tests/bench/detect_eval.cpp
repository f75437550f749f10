// Runs a pipeline over a traffic CSV and writes what it scored, for eval/score.py.
//
//   outlierd_detect_eval --simulate NODES [--threads N] [--bins 48]: milliseconds a slice of such a
//                        network, over the second half of the bins, and the size of its state
//   outlierd_detect_eval TRAFFIC.csv[.gz] [--scores OUT.csv] [--raw OUT.f32] [--budget
//   ALARMS_A_DAY]
//                        [--start 2004-05-01T00:00:00Z --days 14] [--events]
//                        [--without PART]: for ablations, a number of detect::Part
//                        [--hide SHARE]: of the cells of each slice, at random, as not observed
//                        [--hide-rows HOURS]: so long every day another origin's whole row is not
//
// Prints the slices a second, the alarms a day at the threshold in force after `--from` of the
// stretch (0.4 unless said), and the events it opened.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/detect/alarm_threshold.h"
#include "core/pipeline.h"
#include "tests/support/data_files.h"
#include "tests/support/random.h"
#include "tests/support/traffic.h"

namespace outlierd {
namespace {

struct Command {
  std::string file, scores, raw, start;
  double days = 1e9, budget = 1.0, from = 0.4, hide = 0.0, hide_rows = 0.0;
  bool events = false;
  int simulate = 0, bins = 48, threads = 1, without = -1;
};

std::optional<Command> parse(int argc, char** argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--events") {
      command.events = true;
      continue;
    }
    if (word.rfind("--", 0) != 0) {
      command.file = word;
      continue;
    }
    if (++i == argc) return std::nullopt;
    const std::string value = argv[i];
    if (word == "--scores") {
      command.scores = value;
    } else if (word == "--raw") {
      command.raw = value;
    } else if (word == "--start") {
      command.start = value;
    } else if (word == "--days") {
      command.days = std::stod(value);
    } else if (word == "--budget") {
      command.budget = std::stod(value);
    } else if (word == "--simulate") {
      command.simulate = std::stoi(value);
    } else if (word == "--bins") {
      command.bins = std::max(2, std::stoi(value));
    } else if (word == "--without") {
      command.without = std::stoi(value);
    } else if (word == "--threads") {
      command.threads = std::stoi(value);
    } else if (word == "--hide") {
      command.hide = std::stod(value);
    } else if (word == "--hide-rows") {
      command.hide_rows = std::stod(value);
    } else if (word == "--from") {
      command.from = std::stod(value);
    } else {
      return std::nullopt;
    }
  }
  return command.file.empty() && command.simulate == 0 ? std::nullopt : std::optional(command);
}

EpochSeconds seconds_of(const std::string& iso) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (std::sscanf(iso.c_str(), "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) <
      3)
    return 0;
  const std::chrono::sys_days date = std::chrono::year(year) / month / day;
  return date.time_since_epoch().count() * EpochSeconds{86400} + hour * 3600 + minute * 60 + second;
}

struct Traffic {
  Network network;
  std::vector<std::string> times, columns;
  std::vector<EpochSeconds> seconds;
  std::vector<std::size_t> cell_of_column;
  std::vector<std::vector<double>> rows;
};

Traffic traffic_of(const test::Table& table, const Command& command) {
  Traffic traffic;
  std::map<std::string, int> index;
  traffic.network.name = "file";
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& column : table.columns) {
    const std::size_t mark = column.find('>');
    pairs.emplace_back(column.substr(0, mark), column.substr(mark + 1));
    for (const std::string& node : {pairs.back().first, pairs.back().second})
      if (index.emplace(node, int(index.size())).second) traffic.network.nodes.push_back(node);
  }
  for (const auto& [from, to] : pairs)
    traffic.cell_of_column.push_back(traffic.network.cell(index.at(from), index.at(to)));
  traffic.network.bin_seconds = int(seconds_of(table.times[1]) - seconds_of(table.times[0]));
  traffic.columns = table.columns;
  const EpochSeconds begin =
      command.start.empty() ? seconds_of(table.times[0]) : seconds_of(command.start);
  for (std::size_t t = 0; t < table.rows.size(); ++t) {
    const EpochSeconds at = seconds_of(table.times[t]);
    if (at < begin || double(at - begin) >= command.days * 86400.0) continue;
    traffic.times.push_back(table.times[t]);
    traffic.seconds.push_back(at);
    traffic.rows.push_back(table.rows[t]);
  }
  return traffic;
}

int simulate(const Command& command) {
  const Network network = test::small_network(command.simulate);
  PipelineOptions options;
  options.model.threads = command.threads;
  options.model.cold_start_slices = 2;
  Pipeline pipeline(network, options);
  test::SimulatedTraffic traffic(network, 1);
  std::vector<double> milliseconds;
  for (int bin = 0; bin < command.bins; ++bin) {
    const Slice slice = traffic.next();
    const auto before = std::chrono::steady_clock::now();
    pipeline.process(slice, traffic.time(bin));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
            .count());
  }
  milliseconds.erase(milliseconds.begin(), milliseconds.begin() + command.bins / 2);
  std::sort(milliseconds.begin(), milliseconds.end());
  const int bins_a_mean = 86400 / options.model.window / network.bin_seconds;
  std::printf(
      "%d nodes: best %.1f ms, median %.1f ms, worst %.1f ms a slice, %zu bytes of state a cell "
      "with %d of %d means in the window\n",
      command.simulate, milliseconds.front(), milliseconds[milliseconds.size() / 2],
      milliseconds.back(), pipeline.save().size() / cell_count(network.shape()),
      std::min(command.bins / bins_a_mean, options.model.window), options.model.window);
  return 0;
}

// The same cells of the same bins whatever the file, so that a set and its clean twin miss the
// same.
bool hidden(const Command& command, const Network& network, EpochSeconds at, std::size_t cell) {
  const auto drawn = [](std::uint64_t seed) { return test::Random(seed).uniform(); };
  const auto day = std::uint64_t(at / 86400);
  if (command.hide > 0.0 && drawn(std::uint64_t(at) * 1000003u + cell) < command.hide) return true;
  if (command.hide_rows <= 0.0) return false;
  const std::size_t nodes = network.nodes.size(), row = cell / network.metrics.size() / nodes;
  const double begin = drawn(2 * day) * (86400.0 - 3600.0 * command.hide_rows);
  const double since = double(at % 86400) - begin;
  return row == std::size_t(drawn(2 * day + 1) * double(nodes)) && since >= 0.0 &&
         since < 3600.0 * command.hide_rows;
}

int run(const Command& command) {
  const auto table = test::read_table(command.file);
  if (!table) {
    std::fprintf(stderr, "%s\n", table.error().c_str());
    return 1;
  }
  const Traffic traffic = traffic_of(*table, command);
  PipelineOptions options;
  options.detection.false_alarms_per_day = command.budget;
  if (command.without >= 0)
    options.detection.without = detect::PartsLeftOut(detect::Part(command.without));
  Pipeline pipeline(traffic.network, options);
  std::vector<std::vector<float>> scores;
  std::vector<float> peaks;
  std::map<std::string, int> shapes;
  std::int64_t opened = 0;
  double seconds = 0.0;
  float last_threshold = 0.0f;
  const auto counted_from = std::size_t(command.from * double(traffic.rows.size()));
  for (std::size_t t = 0; t < traffic.rows.size(); ++t) {
    Slice slice(traffic.network.shape());
    for (std::size_t k = 0; k < traffic.columns.size(); ++k)
      if (!std::isnan(traffic.rows[t][k]) &&
          !hidden(command, traffic.network, traffic.seconds[t], traffic.cell_of_column[k]))
        slice.set(traffic.cell_of_column[k], traffic.rows[t][k]);
    const auto before = std::chrono::steady_clock::now();
    const SliceReport report = pipeline.process(slice, traffic.seconds[t]);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    scores.push_back(report.score);
    last_threshold = float(report.threshold);
    if (t >= counted_from) peaks.push_back(report.anomalies.empty() ? 0.0f : 1.0f);
    for (const EventUpdate& update : report.events) {
      if (update.change == EventChange::kOpened && t >= counted_from) ++opened;
      if (update.change == EventChange::kClosed) ++shapes[name_of(update.event.shape)];
      if (command.events && update.change != EventChange::kUpdated)
        std::printf("%s %s %s %s %.1f %s\n", traffic.times[t].c_str(), update.event.id.c_str(),
                    update.change == EventChange::kOpened ? "opened" : "closed",
                    name_of(update.event.shape), update.event.peak_score,
                    update.event.summary.c_str());
    }
  }
  const double bins = double(peaks.size()), days = bins * traffic.network.bin_seconds / 86400.0;
  const auto alarms =
      detect::alarms_over(peaks, 0.5f, std::max(1, 3600 / traffic.network.bin_seconds));
  std::printf(
      "%s: %.0f slices/s, %.2f alarms a day (budget %.4g), %.2f events a day, threshold %.2f, %zu "
      "bytes of state a cell;",
      command.file.c_str(), double(traffic.rows.size()) / seconds, double(alarms) / days,
      command.budget, double(opened) / days, double(last_threshold),
      pipeline.save().size() / cell_count(traffic.network.shape()));
  for (const auto& [shape, count] : shapes) std::printf(" %s %d", shape.c_str(), count);
  std::printf("\n");

  if (!command.raw.empty()) {
    std::ofstream out(command.raw, std::ios::binary);
    for (const auto& row : scores)
      for (std::size_t cell : traffic.cell_of_column)
        out.write(reinterpret_cast<const char*>(&row[cell]), sizeof(float));
  }
  if (!command.scores.empty()) {
    std::ofstream out(command.scores);
    out << "time";
    for (const std::string& column : traffic.columns) out << ',' << column;
    out << '\n';
    for (std::size_t t = 0; t < scores.size(); ++t) {
      out << traffic.times[t];
      for (std::size_t cell : traffic.cell_of_column) {
        out << ',';
        if (!std::isnan(scores[t][cell])) out << scores[t][cell];
      }
      out << '\n';
    }
  }
  return 0;
}

}  // namespace
}  // namespace outlierd

int main(int argc, char** argv) {
  const auto command = outlierd::parse(argc, argv);
  if (!command) {
    std::fprintf(stderr, "usage: outlierd_detect_eval TRAFFIC.csv[.gz] [--scores OUT.csv] ...\n");
    return 2;
  }
  return command->simulate > 0 ? outlierd::simulate(*command) : outlierd::run(*command);
}
