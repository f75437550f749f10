// outlierctl replay: the whole pipeline over a traffic file.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/ctl/command.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/replay.h"

namespace outlierd::ctl {
namespace {

class Replay : public Command {
 public:
  std::string_view name() const override { return "replay"; }

  void describe(Arguments& arguments) override {
    arguments.about("Run the whole pipeline over a traffic CSV, without a daemon",
                    "Nodes and bin width come from the file. Scores are causal: a row depends on "
                    "that row and earlier ones only.");
    arguments.option("FILE", "FILE", options_.input, "Traffic CSV, also .gz; - is stdin")
        .required();
    arguments.option("--scores", "FILE", options_.scores, "Write scores here (CSV, also .gz)");
    arguments.option("--expected", "FILE", options_.expected,
                     "Write what was expected here (CSV, also .gz)");
    arguments.option("--events", "FILE", options_.events,
                     "Write events here, one JSON object a line");
    model::FactorizerOptions& model = options_.pipeline.model;
    DetectionOptions& detection = options_.pipeline.detection;
    arguments
        .option("--false-alarms-per-day", "N", detection.false_alarms_per_day,
                "The budget the thresholds are calibrated to")
        .between(0.001, 1000);
    arguments
        .option("--minimum-share", "SHARE", detection.minimum_share,
                "An excess below this share of the traffic counts less")
        .between(0, 1);
    arguments
        .option("--close-after", "SLICES", detection.close_after_slices,
                "Quiet slices before an event closes")
        .between(1, 1000);
    arguments.option("--max-rank", "N", model.max_rank, "Components at most").between(1, 1000);
    arguments.option("--window", "SLICES", model.window, "Slices the model is fitted to")
        .between(1, 10000);
    arguments.option("--forgetting", "FACTOR", model.forgetting, "Weight of a slice, one step back")
        .between(1e-6, 1);
    arguments.option("--threads", "N", model.threads, "Threads of the model").between(1, 256);
    arguments.example("outlierctl replay traffic.csv.gz --events events.ndjson",
                      "what would have been found");
    arguments.example("outlierctl replay m.csv.gz --scores m.scores.csv.gz", "for judging");
  }

  int run(Session& session) override {
    Progress progress(session.error, session.terminal, "slices");
    model::FactorizerOptions& model = options_.pipeline.model;
    model.cold_start_slices = std::min(model.cold_start_slices, model.window);
    const auto summary = run_replay(options_, [&](double fraction, std::size_t slices) {
      progress.update(fraction, double(slices));
    });
    progress.clear();
    if (!summary) return session.fail(summary.error());
    const double rate = summary->seconds > 0 ? double(summary->slices) / summary->seconds : 0.0;
    const double a_day = summary->days > 0 ? double(summary->events) / summary->days : 0.0;
    if (session.json) {
      session.out << nlohmann::ordered_json{{"slices", summary->slices},
                                            {"seconds", summary->seconds},
                                            {"slices_per_second", rate},
                                            {"days", summary->days},
                                            {"anomalies", summary->anomalies},
                                            {"events", summary->events},
                                            {"events_per_day", a_day}}
                         .dump()
                  << '\n';
    } else {
      session.out << fmt::format(
          "{} slices ({:.1f} days) in {:.1f} s, {} slices/s; {} events, {:.2f} a day; {} flagged "
          "cells\n",
          with_thousands(double(summary->slices)), summary->days, summary->seconds,
          with_thousands(rate), with_thousands(double(summary->events)), a_day,
          with_thousands(double(summary->anomalies)));
    }
    return kOk;
  }

 private:
  ReplayOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_replay() { return std::make_unique<Replay>(); }

}  // namespace outlierd::ctl
