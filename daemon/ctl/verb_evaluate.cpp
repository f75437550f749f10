// outlierctl evaluate: all methods over a folder of injected sets.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "daemon/ctl/command.h"
#include "daemon/ctl/comparison.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/report.h"
#include "daemon/ctl/text_file.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == ',')
      parts.emplace_back();
    else if (letter != ' ')
      parts.back() += letter;
  }
  return parts;
}

class Evaluate : public Command {
 public:
  std::string_view name() const override { return "evaluate"; }

  void describe(Arguments& arguments) override {
    options_.jobs = int(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
    options_.keep = "outlierd-evaluation";
    arguments.about(
        "Compare all methods on a folder of injected sets",
        "The folder holds NAME.csv[.gz] and NAME.labels.json as inject writes them. Figures are "
        "those of eval/score.py, events of all sets pooled, with 95 % bootstrap intervals over "
        "events. What was finished is kept in --output: a run that was stopped goes on.");
    arguments.option("FOLDER", "FOLDER", folder_, "Folder of injected sets");
    arguments.option("--report", "FOLDER", report_,
                     "Write the whole comparison there as a page, index.html, the paper's "
                     "experiments with it");
    arguments.option("--data", "FOLDER", data_,
                     "Where the report finds traffic/abilene-sand-week.csv.gz (or $OUTLIERD_DATA)");
    arguments.option("--methods", "NAMES", methods_,
                     "Which, with commas between; the others are compared with the first");
    arguments.option("--output", "FOLDER", options_.keep, "Where finished results are kept");
    arguments.option("--json", "FILE", json_, "Write all figures here");
    arguments.option("--traffic", "FOLDER", traffic_,
                     "Where the clean traffic is, if not where the labels say");
    arguments.option("--only", "TEXT", only_, "Only sets with this in their name");
    arguments.option("--jobs", "N", options_.jobs, "Runs at a time").between(1, 1024);
    arguments.flag("--keep-old", options_.keep_old,
                   "Results kept by another build of the program are good enough");
    arguments.example("outlierctl evaluate sets --json figures.json", "the whole comparison");
    arguments.example("outlierctl evaluate sets --methods outlierd,ewma,ewma+calibrated",
                      "some of it");
    arguments.example("outlierctl evaluate sets --report report --data ../shared/data",
                      "everything, on a page: report/index.html");
  }

  int run(Session& session) override {
    options_.methods = methods_.empty() ? baselines::method_names() : split(methods_);
    const std::vector<std::string> known = baselines::method_names();
    for (const std::string& method : options_.methods)
      if (std::find(known.begin(), known.end(), method) == known.end())
        return session.fail("there is no method \"" + method + "\"; see outlierctl replay --help",
                            kBadUsage);
    if (folder_.empty() && report_.empty())
      return session.fail("evaluate needs a FOLDER of injected sets, or --report", kBadUsage);
    tl::expected<std::vector<InjectedSet>, std::string> sets;
    if (!folder_.empty()) {
      sets = find_sets(folder_, traffic_);
      if (!sets) return session.fail(sets.error());
      std::erase_if(
          *sets, [&](const InjectedSet& set) { return set.name.find(only_) == std::string::npos; });
      if (sets->empty()) return session.fail(folder_ + ": no set has " + only_ + " in its name");
    }
    if (!report_.empty()) return run_report(session, *sets);
    Progress progress(session.error, session.terminal, "runs");
    const auto results = evaluate_sets(*sets, options_, [&](double fraction, std::size_t runs) {
      progress.update(fraction, double(runs));
    });
    progress.clear();
    if (!results) return session.fail(results.error());
    const auto figures = compare(*sets, *results, options_.methods);
    session.out << (session.json ? comparison_json(figures) : comparison_text(figures));
    if (json_.empty()) return kOk;
    auto file = OutputFile::create(json_);
    if (!file) return session.fail(file.error());
    if (auto put = file->write(comparison_json(figures)); !put) return session.fail(put.error());
    if (auto closed = file->close(); !closed) return session.fail(closed.error());
    return kOk;
  }

 private:
  int run_report(Session& session, const std::vector<InjectedSet>& sets) {
    if (std::find(options_.methods.begin(), options_.methods.end(), baselines::kOwnMethod) ==
        options_.methods.end())
      options_.methods.insert(options_.methods.begin(), std::string(baselines::kOwnMethod));
    ReportOptions report;
    report.folder = report_;
    report.data = data_;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
    if (const char* data = std::getenv("OUTLIERD_DATA"); data_.empty() && data != nullptr)
      report.data = data;
    report.sets = sets;
    report.evaluation = options_;
    report.date = format_time(session.now()).substr(0, 10) + ", " + machine();
    report.command = "outlierctl evaluate " + folder_ + (folder_.empty() ? "" : " ") + "--report " +
                     report_ + (report.data.empty() ? "" : " --data " + report.data);
    Progress progress(session.error, session.terminal, "runs");
    const auto written = write_report(report, [&](double fraction, std::size_t runs) {
      progress.update(fraction, double(runs));
    });
    progress.clear();
    if (!written) return session.fail(written.error());
    session.out << report_ << "/index.html\n";
    return kOk;
  }

  // "AMD EPYC 7B13, 2 threads"
  static std::string machine() {
    std::ifstream file("/proc/cpuinfo");
    std::string model = "unknown processor";
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("model name")) {
        model = line.substr(line.find(':') + 2);
        break;
      }
    return fmt::format("{}, {} threads", model, std::thread::hardware_concurrency());
  }

  EvaluationOptions options_;
  std::string folder_, methods_, json_, traffic_, only_, report_, data_;
};

}  // namespace

std::unique_ptr<Command> make_evaluate() { return std::make_unique<Evaluate>(); }

}  // namespace outlierd::ctl
