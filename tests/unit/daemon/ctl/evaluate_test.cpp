// Judging methods on injected sets: the same figures as eval/score.py, kept results, replay with
// other methods and with a configuration.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/evaluate/score.h"
#include "daemon/ctl/comparison.h"
#include "daemon/ctl/evaluation.h"
#include "daemon/ctl/incidents.h"
#include "daemon/ctl/labels.h"
#include "daemon/ctl/picture.h"
#include "daemon/ctl/replay.h"
#include "daemon/ctl/replay_settings.h"
#include "daemon/ctl/simulator.h"
#include "daemon/ctl/traffic_table.h"
#include "tests/support/needs_data.h"
#include "tests/unit/daemon/ctl/scratch.h"

namespace outlierd::ctl {
namespace {

using test::Scratch;
using Json = nlohmann::json;

constexpr EpochSeconds kStart = 1704067200;

// A simulated network, and a set injected into it.
void write_set(const Scratch& scratch, const std::string& name, std::uint64_t seed) {
  SimulatorOptions options;
  options.nodes = 5;
  options.bins = 4 * 288;
  options.seed = 21;
  options.start = kStart;
  Simulator simulator(options);
  std::vector<std::vector<double>> rows;
  std::vector<EpochSeconds> times;
  EpochSeconds time = 0;
  std::vector<double> values;
  auto clean = TrafficWriter::create(scratch.path("clean.csv"), simulator.columns().names);
  ASSERT_TRUE(clean);
  for (std::size_t bin = 0; bin < options.bins; ++bin) {
    if (simulator.next(time, values) == Simulator::Bin::kLeftOut) continue;
    rows.push_back(values);
    times.push_back(time);
    ASSERT_TRUE(clean->write(time, std::span<const double>(values)));
  }
  ASSERT_TRUE(clean->close());
  const IncidentPlan plan{
      .bins = rows.size(), .bin_seconds = 300, .per_day = 5.0, .profile = Profile::kMaterial};
  Random random(seed);
  const TrafficLevels levels = measure_levels(rows, simulator.columns().names.size());
  const auto incidents = IncidentPlanner(simulator.columns(), levels, plan, random).plan();
  auto writer = TrafficWriter::create(scratch.path(name + ".csv"), simulator.columns().names);
  ASSERT_TRUE(writer);
  for (std::size_t bin = 0; bin < rows.size(); ++bin) {
    for (const Incident& incident : incidents) apply(incident, bin, rows[bin]);
    ASSERT_TRUE(writer->write(times[bin], std::span<const double>(rows[bin])));
  }
  ASSERT_TRUE(writer->close());
  const LabelledSet set{.source = scratch.path("clean.csv"),
                        .start = times.front(),
                        .days = 4.0,
                        .seed = seed,
                        .profile = Profile::kMaterial,
                        .bin_seconds = 300,
                        .times = times,
                        .clean_until_row = plan.first_possible_bin()};
  scratch.write(name + ".labels.json", labels_json(set, incidents, simulator.columns().names));
}

EvaluationOptions two_methods(const Scratch& scratch) {
  EvaluationOptions options;
  options.methods = {"outlierd", "ewma"};
  options.keep = scratch.path("kept");
  options.jobs = 2;
  return options;
}

TEST(Evaluate, FindsMostOfWhatWasPutInAndComparesOnTheSameEvents) {
  const Scratch scratch;
  write_set(scratch, "first", 5);
  write_set(scratch, "second", 6);
  const auto sets = find_sets(scratch.path(""), "");
  ASSERT_TRUE(sets) << sets.error();
  ASSERT_EQ(sets->size(), 2u);
  double last = 0.0;
  const auto results = evaluate_sets(*sets, two_methods(scratch),
                                     [&](double fraction, std::size_t) { last = fraction; });
  ASSERT_TRUE(results) << results.error();
  EXPECT_NEAR(last, 1.0, 1e-9);
  const auto figures = compare(*sets, *results, {"outlierd", "ewma"});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].profile, "material");
  ASSERT_EQ(figures[0].methods.size(), 2u);
  const MethodFigures& own = figures[0].methods[0];
  const MethodFigures& ewma = figures[0].methods[1];
  EXPECT_GT(own.recall[2].mean, 0.4);  // simulated traffic is easy; a broken judge finds nothing
  EXPECT_NEAR(ewma.recall_behind[0].mean, own.recall[0].mean - ewma.recall[0].mean, 1e-12);
  EXPECT_LE(own.recall[0].low, own.recall[0].mean);
  EXPECT_GE(own.recall[0].high, own.recall[0].mean);
  EXPECT_TRUE(own.finds_events);
  EXPECT_FALSE(ewma.finds_events);
  const Json json = Json::parse(comparison_json(figures));
  EXPECT_NEAR(json["material"]["methods"]["ewma"]["auc"]["mean"].get<double>(), ewma.auc.mean,
              1e-12);
  EXPECT_NE(comparison_text(figures).find("outlierd minus each"), std::string::npos);
}

TEST(Evaluate, DoesNotDoAgainWhatWasKept) {
  const Scratch scratch;
  write_set(scratch, "only", 5);
  const auto sets = find_sets(scratch.path(""), "");
  ASSERT_TRUE(sets);
  std::size_t first = 0, again = 0;
  const auto made =
      evaluate_sets(*sets, two_methods(scratch), [&](double, std::size_t runs) { first = runs; });
  const auto kept =
      evaluate_sets(*sets, two_methods(scratch), [&](double, std::size_t runs) { again = runs; });
  ASSERT_TRUE(made && kept);
  EXPECT_EQ(first, 4u);  // two methods, a set and its clean twin
  EXPECT_EQ(again, 0u);
  for (const auto& [method, judged] : *made)
    for (std::size_t k = 0; k < judged[0].events.size(); ++k) {
      EXPECT_EQ(judged[0].events[k].delay, kept->at(method)[0].events[k].delay);
      EXPECT_EQ(judged[0].events[k].auc, kept->at(method)[0].events[k].auc);
    }
}

TEST(Evaluate, SaysWhatIsMissing) {
  const Scratch scratch;
  EXPECT_FALSE(find_sets(scratch.path(""), ""));
  scratch.write("x.labels.json", "{}");
  EXPECT_FALSE(find_sets(scratch.path(""), ""));
  scratch.write("x.csv", "time,A>B\n");
  const auto sets = find_sets(scratch.path(""), "");
  ASSERT_FALSE(sets);
  EXPECT_NE(sets.error().find("x.labels.json"), std::string::npos) << sets.error();
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

evaluate::Magnitudes magnitudes_of(const std::string& file) {
  const auto table = read_traffic(file);
  EXPECT_TRUE(table) << table.error();
  evaluate::Magnitudes scores;
  scores.columns = table->columns.names.size();
  for (const auto& row : table->rows)
    for (double value : row) scores.add(value);
  return scores;
}

// The script itself on the same two files of scores; it rounds to four places.
TEST(Evaluate, HasTheFiguresOfTheScript) {
  OUTLIERD_NEEDS_DATA(folder);
  const std::filesystem::path script = folder / "../eval/score.py";
  if (!std::filesystem::exists(script) || std::system("python3 -c pass") != 0)
    GTEST_SKIP() << "needs ../shared/eval/score.py and python3";
  const Scratch scratch;
  const std::string name = (folder / "injected/abilene-sand-material-s202").string();
  for (const auto& [in, out] :
       {std::pair{(folder / "traffic/abilene-sand-week.csv.gz").string(), "clean.csv"},
        std::pair{name + ".csv.gz", "injected.csv"}}) {
    ReplayOptions options;
    options.input = in;
    options.scores = scratch.path(out);
    options.method = "ewma";
    const auto done = run_replay(options, [](double, std::size_t) {});
    ASSERT_TRUE(done) << done.error();
  }
  const std::string command = "python3 " + script.string() + " " + name + ".labels.json " +
                              scratch.path("clean.csv") + " " + scratch.path("injected.csv") +
                              " > " + scratch.path("script.json");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Json script_says = Json::parse(scratch.read("script.json"));

  const auto labels = read_labels(name + ".labels.json");
  ASSERT_TRUE(labels) << labels.error();
  const auto table = read_traffic(scratch.path("clean.csv"));
  ASSERT_TRUE(table);
  evaluate::Labels wanted{labels->clean_until_bin, labels->bin_seconds, {}};
  for (const LabelText& text : labels->events) {
    evaluate::LabelledEvent event{text.kind, text.first_bin, text.bins, {}};
    for (const std::string& pair : text.pairs)
      event.columns.push_back(
          std::size_t(std::find(table->columns.names.begin(), table->columns.names.end(), pair) -
                      table->columns.names.begin()));
    wanted.events.push_back(std::move(event));
  }
  const auto outcome = evaluate::score_set(wanted, magnitudes_of(scratch.path("clean.csv")),
                                           magnitudes_of(scratch.path("injected.csv")), kBudgets);
  ASSERT_TRUE(outcome) << outcome.error();
  ASSERT_EQ(script_says["events"].get<std::size_t>(), outcome->events.size());
  double auc = 0.0;
  for (const auto& event : outcome->events) auc += event.auc;
  EXPECT_NEAR(script_says["auc"].get<double>(), rounded(auc / double(outcome->events.size())),
              1e-9);
  for (std::size_t b = 0; b < 3; ++b) {
    const Json& at = script_says["at_" + std::to_string(int(kBudgets[b])) + "_alarms_a_day"];
    std::vector<int> delays;
    for (const auto& event : outcome->events)
      if (event.delay[b] >= 0) delays.push_back(event.delay[b]);
    std::sort(delays.begin(), delays.end());
    EXPECT_EQ(at["found"].get<std::size_t>(), delays.size());
    EXPECT_NEAR(at["threshold"].get<double>(), rounded(outcome->thresholds[b]), 1e-9);
    EXPECT_NEAR(at["recall"].get<double>(),
                rounded(double(delays.size()) / double(outcome->events.size())), 1e-9);
    if (!delays.empty()) {
      EXPECT_EQ(at["median_delay_bins"].get<int>(), delays[delays.size() / 2]);
    }
  }
}

TEST(ReplayWithAMethod, HasNoEventsWhereTheMethodHasNone) {
  const Scratch scratch;
  write_set(scratch, "set", 5);
  ReplayOptions options;
  options.input = scratch.path("clean.csv");
  options.events = scratch.path("events.ndjson");
  options.method = "holt-winters";
  const auto done = run_replay(options, [](double, std::size_t) {});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().find("+calibrated"), std::string::npos) << done.error();
  options.method = "holt-winters+calibrated";
  const auto calibrated = run_replay(options, [](double, std::size_t) {});
  ASSERT_TRUE(calibrated) << calibrated.error();
  options.method = "nonsense";
  EXPECT_FALSE(run_replay(options, [](double, std::size_t) {}));
}

TEST(ReplayWithAConfiguration, TakesTheNetworksSettings) {
  const Scratch scratch;
  scratch.write("outlierd.yaml",
                "networks:\n"
                "  - name: north\n    nodes: [A, B]\n    bin: 15m\n"
                "    time_zone: Europe/Berlin\n    metrics: [bytes, packets]\n"
                "    model: {max_rank: 3}\n    detection: {false_alarms_per_day: 7}\n"
                "  - name: south\n    nodes: [A, B, C]\n");
  const auto settings = replay_settings(scratch.path("outlierd.yaml"), "north", "packets");
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->network.bin_seconds, 900);
  EXPECT_EQ(settings->network.nodes, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(settings->metric, 1);
  EXPECT_EQ(settings->pipeline.model.max_rank, 3);
  EXPECT_EQ(settings->pipeline.detection.false_alarms_per_day, 7.0);
  EXPECT_EQ(settings->local_offset(1720000000), 7200);                       // a summer's day
  EXPECT_FALSE(replay_settings(scratch.path("outlierd.yaml"), "", ""));      // which of two?
  EXPECT_FALSE(replay_settings(scratch.path("outlierd.yaml"), "west", ""));  // none
  EXPECT_FALSE(replay_settings(scratch.path("outlierd.yaml"), "south", "packets"));
  EXPECT_FALSE(replay_settings(scratch.path("missing.yaml"), "", ""));

  ReplayOptions options;
  options.input = scratch.path("t.csv");
  options.network = settings->network;
  scratch.write("t.csv", "time,A>B\n2024-01-01T00:00:00Z,1\n2024-01-01T00:05:00Z,1\n");
  const auto done = run_replay(options, [](double, std::size_t) {});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().find("900 s"), std::string::npos) << done.error();
}

// A 2 x 1 picture, made with an independent encoder's rules: read back with zlib would repeat the
// code, so only what any reader checks first is.
TEST(Pictures, BeginAsAPngAndDrawEveryLine) {
  EXPECT_TRUE(grey_png_url({0.0, 1.0}, 2, 1).starts_with("data:image/png;base64,iVBORw0KGgo"));
  const std::string svg = svg_chart({"title <1>", "x", "y"},
                                    {{"a", {{0, 1}, {1, 2}}}, {"b", {{0, 2}, {1, std::nan("")}}}});
  EXPECT_NE(svg.find("title &lt;1&gt;"), std::string::npos);
  EXPECT_NE(svg.find(">a</text>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace outlierd::ctl
