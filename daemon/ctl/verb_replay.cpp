// outlierctl replay: the whole pipeline over a traffic file.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/ctl/command.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/replay.h"
#include "daemon/ctl/replay_settings.h"

namespace outlierd::ctl {
namespace {

class Replay : public Command {
 public:
  std::string_view name() const override { return "replay"; }

  void describe(Arguments& arguments) override {
    arguments.about("Run the whole pipeline over a traffic CSV, without a daemon", more_help());
    arguments.option("FILE", "FILE", options_.input, "Traffic CSV, also .gz; - is stdin")
        .required();
    arguments.option("--scores", "FILE", options_.scores, "Write scores here (CSV, also .gz)");
    arguments.option("--expected", "FILE", options_.expected,
                     "Write what was expected here (CSV, also .gz)");
    arguments.option("--events", "FILE", options_.events,
                     "Write events here, one JSON object a line");
    arguments
        .option("--method", "NAME", options_.method,
                "How anomalies are found; what it is compared with has the names below")
        .says_when_given(given_.method);
    arguments.option("--config", "FILE", config_,
                     "Nodes, bin, time zone, model and detection of a network of this file");
    arguments.option("--network", "NAME", network_, "Which one, where the file has several");
    arguments.option("--metric", "NAME", metric_, "Which of its metrics the values are");
    model::FactorizerOptions& model = options_.pipeline.model;
    DetectionOptions& detection = options_.pipeline.detection;
    arguments
        .option("--false-alarms-per-day", "N", detection.false_alarms_per_day,
                "The budget the thresholds are calibrated to")
        .between(0.001, 1000)
        .says_when_given(given_.budget);
    arguments
        .option("--minimum-share", "SHARE", detection.minimum_share,
                "An excess below this share of the traffic counts less")
        .between(0, 1)
        .says_when_given(given_.share);
    arguments
        .option("--close-after", "SLICES", detection.close_after_slices,
                "Quiet slices before an event closes")
        .between(1, 1000)
        .says_when_given(given_.close_after);
    arguments.option("--max-rank", "N", model.max_rank, "Components at most")
        .between(1, 1000)
        .says_when_given(given_.max_rank);
    arguments.option("--window", "SLICES", model.window, "Slices the model is fitted to")
        .between(1, 10000)
        .says_when_given(given_.window);
    arguments.option("--forgetting", "FACTOR", model.forgetting, "Weight of a slice, one step back")
        .between(1e-6, 1)
        .says_when_given(given_.forgetting);
    arguments.option("--threads", "N", model.threads, "Threads of the model").between(1, 256);
    arguments.example("outlierctl replay traffic.csv.gz --events events.ndjson",
                      "what would have been found");
    arguments.example("outlierctl replay m.csv.gz --scores m.scores.csv.gz", "for judging");
    arguments.example("outlierctl replay m.csv.gz --method ewma+calibrated --scores e.csv.gz",
                      "what a simple baseline makes of it");
  }

  int run(Session& session) override {
    if (auto applied = apply_config(); !applied) return session.fail(applied.error());
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
      session.out << fmt::format("{} slices ({:.1f} days) in {:.1f} s, {} slices/s",
                                 with_thousands(double(summary->slices)), summary->days,
                                 summary->seconds, with_thousands(rate));
      if (summary->finds_events)
        session.out << fmt::format("; {} events, {:.2f} a day; {} flagged cells",
                                   with_thousands(double(summary->events)), a_day,
                                   with_thousands(double(summary->anomalies)));
      session.out << '\n';
    }
    return kOk;
  }

 private:
  static std::string more_help() {
    std::string text =
        "Without --config nodes and bin width come from the file. Scores are causal: a row depends "
        "on that row and earlier ones only.\n\nMethods:";
    for (const baselines::MethodName& method : baselines::known_methods())
      text += fmt::format("\n  {:14} {}{}", method.name, method.about,
                          method.calibrated_form ? "; also +calibrated" : "");
    return text + "\nNAME+calibrated puts outlierd's calibration behind a method's residuals.";
  }

  // The network's settings; what the command line says itself stands.
  tl::expected<void, std::string> apply_config() {
    if (config_.empty()) {
      if (!network_.empty() || !metric_.empty())
        return tl::unexpected(std::string("--network and --metric need --config"));
      return {};
    }
    auto settings = replay_settings(config_, network_, metric_);
    if (!settings) return tl::unexpected(settings.error());
    const PipelineOptions said = options_.pipeline;
    options_.network = settings->network;
    options_.metric = settings->metric;
    options_.local_offset = settings->local_offset;
    options_.pipeline = settings->pipeline;
    if (!given_.method) options_.method = settings->method;
    options_.pipeline.model.threads = said.model.threads;
    DetectionOptions& detection = options_.pipeline.detection;
    model::FactorizerOptions& model = options_.pipeline.model;
    if (given_.budget) detection.false_alarms_per_day = said.detection.false_alarms_per_day;
    if (given_.share) detection.minimum_share = said.detection.minimum_share;
    if (given_.close_after) detection.close_after_slices = said.detection.close_after_slices;
    if (given_.max_rank) model.max_rank = said.model.max_rank;
    if (given_.window) model.window = said.model.window;
    if (given_.forgetting) model.forgetting = said.model.forgetting;
    return {};
  }

  ReplayOptions options_;
  std::string config_, network_, metric_;
  struct {
    bool method = false, budget = false, share = false, close_after = false, max_rank = false,
         window = false, forgetting = false;
  } given_;
};

}  // namespace

std::unique_ptr<Command> make_replay() { return std::make_unique<Replay>(); }

}  // namespace outlierd::ctl
