// outlierctl inject: a copy of a stretch of traffic with labelled anomalies in it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "daemon/ctl/command.h"
#include "daemon/ctl/labels.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/times.h"
#include "daemon/ctl/traffic_table.h"

namespace outlierd::ctl {
namespace {

class Inject : public Command {
 public:
  std::string_view name() const override { return "inject"; }

  void describe(Arguments& arguments) override {
    arguments.about(
        "Write a copy of a traffic CSV with labelled anomalies",
        "Kinds: spike, ddos, flash, scan, outage, shift, ramp, dip, step.\nThe first 40 % "
        "of the stretch stays clean. Only what was put in is labelled.");
    arguments.option("FILE", "FILE", input_, "Traffic CSV, also .gz; - is stdin").required();
    arguments.option("--output", "FILE", output_, "Where to write the copy; .gz is compressed")
        .required();
    arguments.option("--labels", "FILE", labels_, "Where to write the labels (JSON)").required();
    arguments.option("--seed", "SEED", seed_, "Another seed, other anomalies");
    arguments
        .option("--profile", "", profile_,
                "subtle: sized by each pair's own spread; material: 1 to 10 % of the network")
        .one_of({"subtle", "material"});
    arguments.option("--per-day", "N", per_day_, "Anomalies a day").between(0, 1000);
    arguments.time("--start", start_, "Begin of the stretch (default: the file's)");
    arguments.option("--days", "DAYS", days_, "Length of the stretch (default: to the file's end)")
        .between(0, 36500);
    arguments.example(
        "outlierctl inject traffic.csv.gz --profile material --seed 5 --output m.csv.gz --labels "
        "m.labels.json",
        "the whole file, with incidents an operator would care for");
  }

  int run(Session& session) override {
    auto stretch = read(session);
    if (!stretch) return session.fail(stretch.error());
    Random random(seed_);
    const IncidentPlan wanted{.bins = stretch->rows.size(),
                              .bin_seconds = stretch->bin_seconds,
                              .per_day = per_day_,
                              .profile = profile_named(profile_).value_or(Profile::kSubtle)};
    const TrafficLevels levels = measure_levels(stretch->rows, stretch->columns.names.size());
    const auto incidents = IncidentPlanner(stretch->columns, levels, wanted, random).plan();
    for (const Incident& incident : incidents)
      for (std::size_t bin = incident.first_bin; bin < incident.first_bin + incident.bins; ++bin)
        apply(incident, bin, stretch->rows[bin]);
    if (auto written = write(*stretch, incidents, wanted); !written)
      return session.fail(written.error());
    session.error << fmt::format("{}: {} bins, {} anomalies\n", output_, stretch->rows.size(),
                                 incidents.size());
    return kOk;
  }

 private:
  tl::expected<TrafficTable, std::string> read(Session& session) const {
    Progress progress(session.error, session.terminal, "bins");
    return read_traffic(input_, {start_, days_}, [&](double fraction, std::size_t bins) {
      progress.update(fraction, double(bins));
    });
  }

  tl::expected<void, std::string> write(const TrafficTable& stretch,
                                        const std::vector<Incident>& incidents,
                                        const IncidentPlan& plan) const {
    auto writer = TrafficWriter::create(output_, stretch.columns.names);
    if (!writer) return tl::unexpected(writer.error());
    for (std::size_t k = 0; k < stretch.rows.size(); ++k)
      if (auto written = writer->write(stretch.times[k], std::span(stretch.rows[k])); !written)
        return written;
    if (auto closed = writer->close(); !closed) return closed;
    const double whole =
        double(stretch.times.back() - stretch.times.front() + stretch.bin_seconds) / 86400.0;
    const LabelledSet set{.source = input_,
                          .start = start_.value_or(stretch.times.front()),
                          .days = days_ > 0 ? days_ : whole,
                          .seed = seed_,
                          .profile = plan.profile,
                          .bin_seconds = stretch.bin_seconds,
                          .times = stretch.times,
                          .clean_until_row = plan.first_possible_bin()};
    auto file = OutputFile::create(labels_);
    if (!file) return tl::unexpected(file.error());
    if (auto put = file->write(labels_json(set, incidents, stretch.columns.names)); !put)
      return put;
    return file->close();
  }

  std::string input_, output_, labels_, profile_ = "subtle";
  std::uint64_t seed_ = 1;
  double per_day_ = 3.0, days_ = 0.0;
  std::optional<EpochSeconds> start_;
};

}  // namespace

std::unique_ptr<Command> make_inject() { return std::make_unique<Inject>(); }

}  // namespace outlierd::ctl
