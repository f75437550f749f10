// outlierctl simulate: a simulated network's traffic CSV, with labelled anomalies on request.

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "daemon/ctl/command.h"
#include "daemon/ctl/incident_text.h"
#include "daemon/ctl/labels.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/simulator.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr std::uint64_t kIncidentStream = 0x9E3779B97F4A7C15;  // the traffic has its own randomness
constexpr double kMostBins = 1e9;

class Simulate : public Command {
 public:
  std::string_view name() const override { return "simulate"; }

  void describe(Arguments& arguments) override {
    arguments.about("Write the traffic CSV of a simulated network",
                    "Gravity between nodes, days and weeks, bursts, holes; labelled anomalies on "
                    "request.\nThe same seed gives the same bytes.");
    arguments.option("--nodes", "N", options_.nodes, "Nodes of the network").between(1, 5000);
    arguments.option("--names", "NAME,...", names_, "Names of the nodes, instead of --nodes");
    arguments.option("--days", "DAYS", days_, "How long").between(0.001, 36500);
    arguments.duration("--bin", options_.bin_seconds, "Bin width");
    arguments.option("--seed", "SEED", options_.seed, "Another seed, another network");
    arguments.time("--start", start_, "First bin (default: so that the last full bin is the last)");
    arguments.option("--output", "FILE", output_, "Where to write; .gz is compressed, - is stdout");
    arguments.option("--labels", "FILE", labels_,
                     "Put anomalies of every kind in, and write their labels (JSON) here");
    arguments.option("--incident", "KIND@BIN", incidents_,
                     "Put in this incident only, a tenth of the network's traffic; BIN counts from "
                     "0, or back from the end with -; may be repeated");
    arguments.option("--profile", "", profile_, "Size of the anomalies of --labels")
        .one_of({"subtle", "material"});
    arguments.option("--per-day", "N", per_day_, "Anomalies a day of --labels").between(0, 1000);
    arguments.example("outlierctl simulate --days 14 --output traffic.csv.gz",
                      "two weeks of a 12-node network, up to now");
    arguments.example(
        "outlierctl simulate --nodes 20 --seed 7 --output t.csv --labels t.labels.json",
        "with anomalies of every kind and their labels");
    arguments.example(
        "outlierctl simulate --incident ddos@-20 | outlierctl push - --to unix:m.sock",
        "a network under attack, straight into a daemon");
  }

  int run(Session& session) override {
    const double bins = std::round(days_ * 86400.0 / options_.bin_seconds);
    if (bins < 1 || bins > kMostBins)
      return session.fail("--days and --bin do not give a sensible number of bins", kBadUsage);
    options_.bins = std::size_t(bins);
    if (!read_names())
      return session.fail("--names takes different names, comma between, without >", kBadUsage);
    const EpochSeconds now = session.now();
    options_.start = start_.value_or(now - EpochSeconds(bins) * options_.bin_seconds);
    options_.start -=
        ((options_.start % options_.bin_seconds) + options_.bin_seconds) % options_.bin_seconds;
    Simulator simulator(options_);
    auto incidents = plan(simulator);
    if (!incidents) return session.fail(incidents.error(), kBadUsage);
    if (auto written = write(session, simulator, *incidents); !written)
      return session.fail(written.error());
    return kOk;
  }

 private:
  bool read_names() {
    std::set<std::string> seen;
    for (std::size_t begin = 0; begin < names_.size();) {
      const std::size_t end = std::min(names_.find(',', begin), names_.size());
      const std::string name = names_.substr(begin, end - begin);
      if (name.empty() || name.find_first_of(">\"\n\r ") != name.npos) return false;
      if (!seen.insert(name).second) return false;
      options_.names.push_back(name);
      begin = end + 1;
    }
    return true;
  }

  tl::expected<std::vector<Incident>, std::string> plan(const Simulator& simulator) const {
    Random random(options_.seed ^ kIncidentStream);
    const IncidentPlan wanted{.bins = options_.bins,
                              .bin_seconds = options_.bin_seconds,
                              .per_day = per_day_,
                              .profile = profile_named(profile_).value_or(Profile::kMaterial),
                              .at_least = kIncidentKinds};
    IncidentPlanner planner(simulator.columns(), simulator.levels(), wanted, random);
    if (incidents_.empty()) return labels_.empty() ? std::vector<Incident>{} : planner.plan();
    std::vector<Incident> chosen;
    for (const std::string& text : incidents_) {
      auto incident = chosen_incident(text, options_.bins, planner, kChosenShare);
      if (!incident) return tl::unexpected(incident.error());
      chosen.push_back(std::move(*incident));
    }
    return chosen;
  }

  tl::expected<void, std::string> write(Session& session, Simulator& simulator,
                                        const std::vector<Incident>& incidents) const {
    auto writer = TrafficWriter::create(output_, simulator.columns().names);
    if (!writer) return tl::unexpected(writer.error());
    Progress progress(session.error, session.terminal, "bins");
    LabelledSet set;
    std::vector<std::size_t> rows_before;  // per bin
    std::vector<double> values;
    EpochSeconds time = 0;
    for (std::size_t bin = 0;; ++bin) {
      const Simulator::Bin kind = simulator.next(time, values);
      rows_before.push_back(set.times.size());
      if (kind == Simulator::Bin::kNoMore) break;
      if (kind == Simulator::Bin::kLeftOut) continue;
      for (const Incident& incident : incidents) apply(incident, bin, values);
      for (double& value : values) value = std::round(value);  // a hole stays one
      set.times.push_back(time);
      if (auto written = writer->write(time, std::span<const double>(values)); !written)
        return written;
      progress.update(double(bin + 1) / double(options_.bins), double(bin + 1));
    }
    if (auto closed = writer->close(); !closed || labels_.empty()) return closed;
    return write_labels(std::move(set), incidents, rows_before, simulator.columns().names);
  }

  // Labels count rows of the file; bins left out of it have none.
  tl::expected<void, std::string> write_labels(LabelledSet set, std::vector<Incident> incidents,
                                               const std::vector<std::size_t>& rows_before,
                                               const std::vector<std::string>& columns) const {
    std::vector<Incident> in_rows;
    for (Incident& incident : incidents) {
      const std::size_t first = rows_before[incident.first_bin];
      const std::size_t end = rows_before[incident.first_bin + incident.bins];
      if (first == end) continue;  // it fell into a hole
      incident.first_bin = first;
      incident.bins = end - first;
      in_rows.push_back(std::move(incident));
    }
    set.source = "outlierctl simulate";
    set.start = options_.start;
    set.days = days_;
    set.seed = options_.seed;
    set.profile = profile_named(profile_).value_or(Profile::kMaterial);
    set.bin_seconds = options_.bin_seconds;
    set.clean_until_row = rows_before[IncidentPlan{.bins = options_.bins}.first_possible_bin()];
    auto file = OutputFile::create(labels_);
    if (!file) return tl::unexpected(file.error());
    if (auto written = file->write(labels_json(set, in_rows, columns)); !written) return written;
    return file->close();
  }

  SimulatorOptions options_;
  double days_ = 7.0;
  std::optional<EpochSeconds> start_;
  std::string names_, output_ = "-", labels_, profile_ = "material";
  std::vector<std::string> incidents_;
  double per_day_ = 3.0;
};

}  // namespace

std::unique_ptr<Command> make_simulate() { return std::make_unique<Simulate>(); }

}  // namespace outlierd::ctl
