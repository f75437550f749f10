// What is drawn in a terminal, as golden strings.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "daemon/ctl/chart.h"
#include "daemon/ctl/heat_map.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/style.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Table, AlignsColumnsNumbersOnTheRight) {
  Table table({"NAME", ">COUNT", "WHAT"});
  table.add({"a", "1", "first"});
  table.add({"größer", "1,234", {"second", Color::kRed}});
  EXPECT_EQ(table.render(false),
            "NAME    COUNT  WHAT\n"
            "a           1  first\n"
            "größer  1,234  second\n");
  EXPECT_EQ(table.render(true),
            "\x1b[1mNAME\x1b[0m    \x1b[1mCOUNT\x1b[0m  \x1b[1mWHAT\x1b[0m\n"
            "a           1  first\n"
            "größer  1,234  \x1b[31msecond\x1b[0m\n");
}

TEST(Table, CutsTheLastColumnAtTheTerminalsEdge) {
  Table table({"ID", "SUMMARY"});
  table.add({"1", "seven origins send four times the expected"});
  EXPECT_EQ(table.render(false, 20), "ID  SUMMARY\n1   seven origins …\n");
}

TEST(ShortNumber, KeepsTwoDigitsOrThree) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.5), "0.5");
  EXPECT_EQ(short_number(9.1), "9.1");
  EXPECT_EQ(short_number(912), "912");
  EXPECT_EQ(short_number(999.6), "1k");
  EXPECT_EQ(short_number(1234), "1.2k");
  EXPECT_EQ(short_number(-5.12e9), "-5.1G");
  EXPECT_EQ(short_number(0.0012), "1.2e-03");
  EXPECT_EQ(short_number(kNaN), "-");
}

TEST(HeatMap, IsShadesOfAsciiWithoutColour) {
  const HeatMap map{{"ATLA", "CHI", "X"}, {{0, 10, 1000}, {100, kNaN, 1}, {1000, 0.1, 5}}, false};
  EXPECT_EQ(render(map, false, 80),
            "     A\n"
            "     T C\n"
            "     L H\n"
            "     A I X\n"
            "ATLA   ++@@\n"
            "CHI  ## ?::\n"
            "X    @@  ==\n"
            "from 0.1 to 1k (logarithmic), ? not observed\n");
}

TEST(HeatMap, ShowsTheDirectionOfScores) {
  const HeatMap map{{"A", "B"}, {{0, 10}, {-10, -0.5}}, true};
  EXPECT_EQ(render(map, false, 80),
            "  A B\n"
            "A   @@\n"
            "B -@\n"
            "up and down to 10, ? not observed\n");
}

TEST(HeatMap, IsColouredOnATerminal) {
  const HeatMap map{{"A", "B"}, {{1, 1000}, {kNaN, 0}}, false};
  EXPECT_EQ(render(map, true, 80),
            "  A B\n"
            "A \x1b[48;5;30m  \x1b[0m\x1b[48;5;228m  \x1b[0m\n"
            "B \x1b[2m··\x1b[0m\x1b[48;5;17m  \x1b[0m\n"
            "from 0.1 to 1k (logarithmic), · not observed\n");
}

TEST(HeatMap, DrawsBlocksOfNodesWhenTheTerminalIsNarrow) {
  HeatMap map;
  for (int k = 0; k < 100; ++k) map.nodes.push_back("n" + std::to_string(k));
  map.values.assign(100, std::vector<double>(100, 1.0));
  map.values[99][0] = 1e6;
  const std::string text = render(map, false, 30);
  std::istringstream lines(text);
  std::string line, last_row;
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 50u) << line;
    if (line.starts_with("n")) last_row = line;
  }
  EXPECT_EQ(last_row.substr(0, 5), "n96 @") << text;  // the spike is seen, whatever the block
}

TEST(Sparkline, SpansFromTheSmallestToTheLargest) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 80), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({5, 5, kNaN, 5}, 80), "▁▁ ▁");
  EXPECT_EQ(sparkline({1, 9, 1, 1, 2, 1}, 3), "█▁▂");  // a spike survives
  EXPECT_EQ(sparkline({}, 10), "");
}

TEST(Chart, ShowsTheBandTheExpectedAndWhatLiesOutside) {
  std::vector<ChartPoint> points;
  for (int k = 0; k < 4; ++k) points.push_back({1078099200 + 300 * k, 55, 40, 20, 60, 1});
  points[1].observed = 40;
  points[2].observed = 100;
  points[3].observed = kNaN;
  EXPECT_EQ(render_chart(points, 80, 5, false),
            "    100│  !\n"
            "       │\n"
            "     60│●░░░\n"
            "       │─●──\n"
            "     20│░░░░\n"
            "        2004-03-01T00:00:00Z to 2004-03-01T00:15:00Z\n");
}

TEST(Progress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(render_progress(0.25, 500, "bins", 2.0, 100),
            " 25% [########                      ] 500 bins, 250 bins/s, 6 s left");
  EXPECT_EQ(render_progress(1.0, 12345, "bins", 10.0, 100),
            "100% [##############################] 12,345 bins, 1,234 bins/s");
  EXPECT_EQ(render_progress(kNaN, 30, "bins", 10.0, 100), "30 bins, 3.0 bins/s");
  EXPECT_EQ(render_progress(0.5, 30, "bins", 10.0, 20).size(), 19u);
}

TEST(Progress, IsSilentForTwoSecondsAndWithoutATerminal) {
  double now = 100.0;
  std::ostringstream out;
  Terminal terminal;
  terminal.error = true;
  {
    Progress progress(out, terminal, "bins", [&] { return now; });
    now = 101.8;
    progress.update(0.5, 10);
    EXPECT_EQ(out.str(), "");
    now = 102.1;
    progress.update(0.5, 10);
    EXPECT_NE(out.str().find("50%"), std::string::npos);
  }
  EXPECT_TRUE(out.str().ends_with("\r\x1b[K"));  // it leaves the line clean
  std::ostringstream pipe;
  Progress quiet(pipe, Terminal{}, "bins", [&] { return now; });
  now = 200;
  quiet.update(0.5, 10);
  EXPECT_EQ(pipe.str(), "");
}

TEST(Times, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_time("2004-03-01T00:05:00Z"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01 00:05"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01T01:05:00.000+01:00"), 1078099500);
  EXPECT_EQ(parse_time("2004-02-29T22:35:00-0130"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01"), 1078099200);
  EXPECT_EQ(parse_time("1969-12-31T23:59:59Z"), -1);
  for (const char* bad : {"", "2004", "2004-3-1", "2004-02-30", "2004-03-01T24:00:00Z", "yesterday",
                          "2004-03-01T00:05:00Zulu", "2004-03-01T00:05:60Z", "2004-03-01T"})
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
  EXPECT_EQ(format_time(1078099500), "2004-03-01T00:05:00Z");
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59Z");
}

TEST(Durations, AreReadAndWritten) {
  EXPECT_EQ(parse_duration("5m"), 300);
  EXPECT_EQ(parse_duration("90"), 90);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("1d"), 86400);
  for (const char* bad : {"", "m", "0s", "-5m", "5 m", "5x", "99999999999d"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  EXPECT_EQ(format_duration(42), "42 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(7500), "2 h 5 min");
  EXPECT_EQ(format_duration(273600), "3 d 4 h");
}

}  // namespace
}  // namespace outlierd::ctl
