#include "daemon/ctl/report.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <mutex>

#include "daemon/ctl/kept_results.h"
#include "daemon/ctl/parallel.h"
#include "daemon/ctl/text_file.h"

namespace outlierd::ctl {
namespace {

using baselines::Factorization;
using model::FactorizerOptions;

constexpr int kRank = 10;
constexpr const char* kRootMark = "on x^(1/4)";  // ends the name of a run on such values
constexpr std::size_t kWarmSlices = 300, kPaperSlices = 150;

// One independent piece of work: JSON out, taken in when all are there.
struct Piece {
  std::string name;
  std::function<tl::expected<std::string, std::string>()> run;
  std::function<void(const std::string&)> take;
};

class Pieces {
 public:
  Pieces(const TrafficTable& week, ReportParts& parts) : week_(week), parts_(parts) {}

  void add_network_experiments();
  void add_ablations();
  void add_phantom();
  const std::vector<Piece>& list() const { return list_; }

 private:
  void add_week(const std::string& name, const std::string& unit, double factor, std::size_t slices,
                std::vector<Series>& into, const MakeFactorization& make, bool transposed = false,
                bool can_half = true) {
    const std::size_t at = into.size();
    into.push_back({name, unit, {}, {}});
    for (const bool half : {false, true}) {
      if (half && !can_half) continue;
      const WeekExperiment experiment{slices, half, factor, name.ends_with(kRootMark), transposed};
      list_.push_back({"week/" + name + "-" + unit + (half ? "-half" : "-full"),
                       [this, experiment, make]() -> tl::expected<std::string, std::string> {
                         return errors_json(run_week(week_, experiment, make));
                       },
                       [&into, at, half](const std::string& json) {
                         (half ? into[at].half : into[at].full) = errors_of_json(json);
                       }});
    }
  }
  // Of several units the one that suits the method best.
  void add_phantom_run(const std::string& name, const std::vector<double>& units,
                       const MakeFactorization& make) {
    for (const double unit : units)
      list_.push_back({fmt::format("phantom/{}-{:g}", name, unit),
                       [make, unit]() -> tl::expected<std::string, std::string> {
                         return phantom_json(run_phantom({}, kPhantomFrames, unit, make));
                       },
                       [this, name](const std::string& json) {
                         PhantomRun run = phantom_of_json(json);
                         PhantomRun& best = parts_.phantom[name];
                         if (best.errors.empty() || total_error(run) < total_error(best))
                           best = std::move(run);
                       }});
  }
  static double total_error(const PhantomRun& run) {
    double sum = 0.0;
    for (double error : run.errors) sum += std::isfinite(error) ? error : 10.0;
    return sum;
  }

  const TrafficTable& week_;
  ReportParts& parts_;
  std::vector<Piece> list_;
};

MakeFactorization factorizer(FactorizerOptions options) {
  return [options](SliceShape shape) { return baselines::make_factorizer(shape, options); };
}

template <class Make>
MakeFactorization started(Make make, int rank) {
  return [make, rank](SliceShape shape) { return make(shape, rank, 1); };
}

MakeFactorization olstec(baselines::OlstecWindow window, int rank) {
  return
      [window, rank](SliceShape shape) { return baselines::make_olstec(shape, rank, 1, window); };
}

void Pieces::add_network_experiments() {
  const double deviation = unit_of_deviations(week_, kWarmSlices);
  const std::vector<std::pair<std::string, double>> units = {
      {"bytes", 1.0}, {"megabytes", 1e-6}, {"standard deviations", deviation}};
  std::vector<Series>& into = parts_.factorizations;
  FactorizerOptions plain;
  plain.sparse = false;
  FactorizerOptions paper;
  paper.rules = model::Rules::kPaper;
  for (const auto& [unit, factor] : units)
    add_week("outlierd, sparse part off", unit, factor, kWarmSlices, into, factorizer(plain));
  for (const auto& [unit, factor] : units)
    add_week("outlierd", unit, factor, kWarmSlices, into, factorizer({}));
  add_week("outlierd, on x^(1/4)", "bytes", 1.0, kWarmSlices, into, factorizer({}));
  add_week("outlierd, sparse part off, on x^(1/4)", "bytes", 1.0, kWarmSlices, into,
           factorizer(plain));
  add_week("olstec, on x^(1/4)", "standard deviations", deviation, kWarmSlices, into,
           olstec(baselines::OlstecWindow::kExponential, kRank));
  for (const auto& [unit, factor] : units)
    add_week("olstec", unit, factor, kWarmSlices, into,
             olstec(baselines::OlstecWindow::kExponential, kRank));
  for (const auto& [unit, factor] : units)
    add_week("olstec, truncated window", unit, factor, kWarmSlices, into,
             olstec(baselines::OlstecWindow::kTruncated, kRank), true);
  for (const auto& [unit, factor] : units)
    add_week("online-sgd", unit, factor, kWarmSlices, into,
             started(baselines::make_online_sgd, kRank));
  for (const auto& [unit, factor] : units)
    add_week("online-cp", unit, factor, kWarmSlices, into,
             started(baselines::make_online_cp, kRank), false, false);
  for (const auto& [unit, factor] : units)
    add_week("brst-paper", unit, factor, kPaperSlices, into, factorizer(paper), true);
  for (const char* method : {"outlierd", "ewma", "ewma-linear", "holt-winters"}) {
    const std::size_t at = parts_.expectations.size();
    parts_.expectations.push_back({method, "bytes", {}, {}});
    list_.push_back({std::string("expected/") + method,
                     [this, method]() -> tl::expected<std::string, std::string> {
                       auto errors = run_week(week_, {kWarmSlices, true, 1.0, false, false},
                                              std::string(method));
                       if (!errors) return tl::unexpected(errors.error());
                       return errors_json(*errors);
                     },
                     [this, at](const std::string& json) {
                       parts_.expectations[at].half = errors_of_json(json);
                     }});
  }
}

void Pieces::add_ablations() {
  const auto add = [this](const std::string& name, const auto& change) {
    FactorizerOptions options;
    change(options);
    add_week(name, "bytes", 1.0, kWarmSlices, parts_.ablations, factorizer(options));
  };
  add("as it is", [](FactorizerOptions&) {});
  add("no sparse part", [](FactorizerOptions& o) { o.sparse = false; });
  add("one sweep", [](FactorizerOptions& o) { o.warm_sweeps = 1; });
  add("five sweeps", [](FactorizerOptions& o) { o.warm_sweeps = 5; });
  add("rank at most 5", [](FactorizerOptions& o) { o.max_rank = 5; });
  add("rank at most 20", [](FactorizerOptions& o) { o.max_rank = 20; });
  add("window 12", [](FactorizerOptions& o) { o.window = o.cold_start_slices = 12; });
  add("window 60", [](FactorizerOptions& o) { o.window = 60; });
  add("forgetting .9", [](FactorizerOptions& o) { o.forgetting = 0.9; });
  add("forgetting 1", [](FactorizerOptions& o) { o.forgetting = 1.0; });
  add("outliers from 3 sigmas", [](FactorizerOptions& o) { o.outlier_sigmas = 3.0; });
  add("components never seeded anew", [](FactorizerOptions& o) { o.reseed_slices = 1000000; });
}

void Pieces::add_phantom() {
  constexpr int kPhantomRank = 15;
  const std::vector<double> units = {1.0, 3.0, 10.0, 30.0};
  FactorizerOptions options;
  options.max_rank = kPhantomRank;
  add_phantom_run("outlierd", {1.0}, factorizer(options));
  add_phantom_run("olstec", units, olstec(baselines::OlstecWindow::kExponential, kPhantomRank));
  add_phantom_run("online-sgd", units, started(baselines::make_online_sgd, kPhantomRank));
}

tl::expected<void, std::string> run_pieces(const std::vector<Piece>& pieces,
                                           const ReportOptions& options, const std::string& key,
                                           const std::function<void(std::size_t done)>& progress) {
  const KeptResults kept(options.folder + "/parts", options.evaluation.keep_old);
  std::mutex mutex;
  std::size_t done = 0;
  return run_in_parallel(pieces.size(), options.evaluation.jobs,
                         [&](std::size_t index) -> tl::expected<void, std::string> {
                           const Piece& piece = pieces[index];
                           std::optional<std::string> text = kept.find_text(piece.name, key);
                           if (!text) {
                             auto made = piece.run();
                             if (!made) return tl::unexpected(piece.name + ": " + made.error());
                             if (auto saved = kept.keep_text(piece.name, key, *made); !saved)
                               return saved;
                             text = std::move(*made);
                           }
                           const std::lock_guard lock(mutex);
                           piece.take(*text);
                           progress(++done);
                           return {};
                         });
}

// What the detector is without one of its parts. The first is what the others are compared with.
std::map<std::string, Variant> detection_ablations(const baselines::MethodOptions& options) {
  std::map<std::string, Variant> variants;
  const auto add = [&](const std::string& name, const auto& change) {
    Variant variant{std::string(baselines::kOwnMethod), options};
    change(variant.options.pipeline);
    variants[name] = std::move(variant);
  };
  add("outlierd, no share gate", [](PipelineOptions& o) { o.detection.minimum_share = 1e-9; });
  for (const auto& [name, part] :
       {std::pair{"factorization", detect::Part::kLowRank},
        std::pair{"daily profile", detect::Part::kDaily},
        std::pair{"cells together", detect::Part::kTogether},
        std::pair{"volumes of rows and columns", detect::Part::kVolumes},
        std::pair{"shares", detect::Part::kShares},
        std::pair{"longer horizons of cells", detect::Part::kLonger},
        std::pair{"shifts", detect::Part::kShifts},
        std::pair{"calm at restless times of day", detect::Part::kCalm},
        std::pair{"usual range", detect::Part::kRange}, std::pair{"news", detect::Part::kNews}})
    add(std::string("outlierd, no ") + name,
        [without = detect::PartsLeftOut(part)](PipelineOptions& o) {
          o.detection.without = without;
        });
  add("outlierd, one component", [](PipelineOptions& o) { o.model.max_rank = 1; });
  return variants;
}

}  // namespace

tl::expected<void, std::string> write_report(
    const ReportOptions& options,
    const std::function<void(double fraction, std::size_t)>& progress) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  ReportParts parts;
  TrafficTable week;
  std::string key = "no data";
  Pieces pieces(week, parts);
  if (!options.data.empty()) {
    const std::string file = options.data + "/traffic/abilene-sand-week.csv.gz";
    auto read = read_traffic(file);
    if (!read) return tl::unexpected(read.error());
    week = std::move(*read);
    key = file_fingerprint(file);
    pieces.add_network_experiments();
    pieces.add_ablations();
  }
  pieces.add_phantom();

  EvaluationOptions detection = options.evaluation;
  detection.keep = options.folder + "/parts/detection";
  detection.variants = detection_ablations(detection.method);
  std::vector<std::string> ablations = {std::string(baselines::kOwnMethod)};
  for (const auto& [name, variant] : detection.variants) ablations.push_back(name);
  detection.methods.insert(detection.methods.end(), ablations.begin() + 1, ablations.end());
  const double detecting = double(options.sets.size() * detection.methods.size());
  const double total = double(pieces.list().size()) + detecting;

  const auto run = run_pieces(pieces.list(), options, key,
                              [&](std::size_t done) { progress(double(done) / total, done); });
  if (!run) return tl::unexpected(run.error());
  if (!options.sets.empty()) {
    const auto judged =
        evaluate_sets(options.sets, detection, [&](double fraction, std::size_t runs) {
          const double before = double(pieces.list().size());
          progress((before + fraction * detecting) / total, pieces.list().size() + runs);
        });
    if (!judged) return tl::unexpected(judged.error());
    parts.detection = compare(options.sets, *judged, options.evaluation.methods);
    parts.detection_ablations = compare(options.sets, *judged, ablations);
  }
  for (const auto& [name, text] : {std::pair{"index.html", report_html(options, parts)},
                                   std::pair{"detection.json", comparison_json(parts.detection)}}) {
    auto file = OutputFile::create(options.folder + "/" + name);
    if (!file) return tl::unexpected(file.error());
    if (auto put = file->write(text); !put) return put;
    if (auto closed = file->close(); !closed) return closed;
  }
  return {};
}

}  // namespace outlierd::ctl
