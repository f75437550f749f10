#include "daemon/ctl/replay.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/ctl/simulator.h"
#include "daemon/ctl/times.h"
#include "tests/unit/daemon/ctl/scratch.h"

namespace outlierd::ctl {
namespace {

using Json = nlohmann::json;
using test::Scratch;

constexpr EpochSeconds kStart = 1704067200;  // 2024-01-01
constexpr std::size_t kIncident = 1900;

// A week of six nodes in which the last day sees one destination flooded.
void write_traffic(const std::string& path, std::size_t bins) {
  SimulatorOptions options;
  options.nodes = 6;
  options.bins = bins;
  options.seed = 21;
  options.start = kStart;
  Simulator simulator(options);
  Incident incident;
  incident.kind = IncidentKind::kDdos;
  incident.first_bin = kIncident;
  incident.bins = 6;
  for (std::size_t k = 0; k < 36; ++k)
    if (simulator.columns().pairs[k].destination == 2 && simulator.columns().pairs[k].origin != 2) {
      incident.columns.push_back(k);
      incident.added.push_back(0.2 * simulator.levels().total);
    }
  auto writer = TrafficWriter::create(path, simulator.columns().names);
  ASSERT_TRUE(writer);
  EpochSeconds time = 0;
  std::vector<double> values;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    if (simulator.next(time, values) == Simulator::Bin::kLeftOut) continue;
    apply(incident, bin, values);
    ASSERT_TRUE(writer->write(time, std::span<const double>(values)));
  }
  ASSERT_TRUE(writer->close());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

tl::expected<ReplaySummary, std::string> replay(const Scratch& scratch, const std::string& file) {
  ReplayOptions options;
  options.input = scratch.path(file);
  options.scores = scratch.path(file + ".scores");
  options.expected = scratch.path(file + ".expected");
  options.events = scratch.path(file + ".events");
  return run_replay(options, [](double, std::size_t) {});
}

TEST(Replay, ScoresEveryRowAndFindsTheFlood) {
  const Scratch scratch;
  write_traffic(scratch.path("t.csv"), 2016);
  const auto summary = replay(scratch, "t.csv");
  ASSERT_TRUE(summary) << summary.error();
  const auto traffic = lines_of(scratch.read("t.csv")),
             scores = lines_of(scratch.read("t.csv.scores"));
  ASSERT_EQ(scores.size(), traffic.size());
  EXPECT_EQ(scores[0], traffic[0]);
  EXPECT_EQ(scores.back().substr(0, 20), traffic.back().substr(0, 20));
  EXPECT_EQ(lines_of(scratch.read("t.csv.expected")).size(), traffic.size());
  EXPECT_EQ(summary->slices, traffic.size() - 1);

  const auto events = lines_of(scratch.read("t.csv.events"));
  EXPECT_EQ(events.size(), summary->events);
  bool found = false;
  for (const std::string& line : events) {
    const Json event = Json::parse(line);
    for (const char* key :
         {"id", "network", "state", "shape", "direction", "summary", "opened", "updated", "closed",
          "peak_score", "excess", "origins", "destinations", "cells", "acknowledged", "silenced"})
      EXPECT_TRUE(event.contains(key)) << key;
    const auto opened = parse_time(event["opened"].get<std::string>()).value_or(0);
    const auto bin = (opened - kStart) / 300;
    found |= bin >= EpochSeconds(kIncident) && bin < EpochSeconds(kIncident) + 6 &&
             event["direction"] == "up";
  }
  EXPECT_TRUE(found);
}

TEST(Replay, IsCausal) {
  const Scratch scratch;
  write_traffic(scratch.path("whole.csv"), 1000);
  write_traffic(scratch.path("begin.csv"), 700);
  ASSERT_TRUE(replay(scratch, "whole.csv"));
  ASSERT_TRUE(replay(scratch, "begin.csv"));
  const std::string whole = scratch.read("whole.csv.scores"),
                    begin = scratch.read("begin.csv.scores");
  EXPECT_TRUE(whole.starts_with(begin));
}

TEST(Replay, SaysWhatIsWrongWithItsFile) {
  const Scratch scratch;
  scratch.write("bad.csv", "time,A>B\n2024-01-01T00:00:00Z,1\n2024-01-01T00:05:00Z,x\n");
  const auto summary = replay(scratch, "bad.csv");
  ASSERT_FALSE(summary);
  EXPECT_TRUE(summary.error().ends_with("bad.csv:3: A>B: \"x\" is not a number"))
      << summary.error();
}

}  // namespace
}  // namespace outlierd::ctl
