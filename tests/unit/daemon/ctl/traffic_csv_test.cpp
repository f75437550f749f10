#include "daemon/ctl/traffic_csv.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>

#include "tests/support/random.h"
#include "tests/unit/daemon/ctl/scratch.h"

namespace outlierd::ctl {
namespace {

using test::Scratch;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The first reason the reader gives, with the folder taken off; "fine" when there is none.
std::string complaint(const std::string& text) {
  const Scratch scratch;
  const std::string path = scratch.write("bad.csv", text);
  const auto shorten = [&](std::string reason) { return reason.substr(reason.find("bad.csv")); };
  auto reader = TrafficReader::open(path);
  if (!reader) return shorten(reader.error());
  TrafficRow row;
  while (true) {
    const auto got = reader->next(row);
    if (!got) return shorten(got.error());
    if (!*got) return "fine";
  }
}

struct BadFile {
  const char* what;
  std::string text, complaint;
};
class RefusesBadTraffic : public testing::TestWithParam<BadFile> {};

TEST_P(RefusesBadTraffic, WithTheLineAndTheReason) {
  EXPECT_EQ(complaint(GetParam().text), GetParam().complaint);
}

const std::string kHead = "time,A>A,A>B\n";
const std::string kRow = "2004-03-01T00:00:00Z,1,2\n";

INSTANTIATE_TEST_SUITE_P(
    Files, RefusesBadTraffic,
    testing::Values(
        BadFile{"empty", "", "bad.csv: is empty"},
        BadFile{"no_header", "2004-03-01T00:00:00Z,1,2\n",
                "bad.csv:1: the header begins with \"2004-03-01T00:00:00Z\", not with \"time\""},
        BadFile{"no_pairs", "time\n", "bad.csv:1: the header names no ORIGIN>DESTINATION pair"},
        BadFile{"not_a_pair", "time,A>A,AB\n",
                "bad.csv:1: column 3, \"AB\", is not ORIGIN>DESTINATION"},
        BadFile{"no_destination", "time,A>\n",
                "bad.csv:1: column 2, \"A>\", is not ORIGIN>DESTINATION"},
        BadFile{"two_marks", "time,A>B>C\n",
                "bad.csv:1: column 2, \"A>B>C\", is not ORIGIN>DESTINATION"},
        BadFile{"twice", "time,A>B,B>A,A>B\n", "bad.csv:1: column 4, \"A>B\", is already column 2"},
        BadFile{"time", kHead + "2004-13-01T00:00:00Z,1,2\n",
                "bad.csv:2: time \"2004-13-01T00:00:00Z\" is not a time like 2004-03-01T00:05:00Z"},
        BadFile{"fraction", kHead + "2004-03-01T00:00:00.5Z,1,2\n",
                "bad.csv:2: time \"2004-03-01T00:00:00.5Z\" is not a time like "
                "2004-03-01T00:05:00Z"},
        BadFile{"same_time", kHead + kRow + kRow,
                "bad.csv:3: time 2004-03-01T00:00:00Z is not after the row before, "
                "2004-03-01T00:00:00Z"},
        BadFile{"backwards", kHead + kRow + "2004-02-29T23:55:00Z,1,2\n",
                "bad.csv:3: time 2004-02-29T23:55:00Z is not after the row before, "
                "2004-03-01T00:00:00Z"},
        BadFile{"too_few", kHead + "2004-03-01T00:00:00Z,1\n",
                "bad.csv:2: 2 fields, but the header has 3"},
        BadFile{"only_time", kHead + "2004-03-01T00:00:00Z\n",
                "bad.csv:2: 1 field, but the header has 3"},
        BadFile{"too_many", kHead + "2004-03-01T00:00:00Z,1,2,\n",
                "bad.csv:2: 4 fields, but the header has 3"},
        BadFile{"word", kHead + "2004-03-01T00:00:00Z,1,n/a\n",
                "bad.csv:2: A>B: \"n/a\" is not a number"},
        BadFile{"blank", kHead + "2004-03-01T00:00:00Z, 1,2\n",
                "bad.csv:2: A>A: \" 1\" is not a number"},
        BadFile{"trailing", kHead + "2004-03-01T00:00:00Z,1x,2\n",
                "bad.csv:2: A>A: \"1x\" is not a number"},
        BadFile{"not_a_value", kHead + "2004-03-01T00:00:00Z,nan,2\n",
                "bad.csv:2: A>A: \"nan\" is not a value; a cell that was not observed is left "
                "empty"},
        BadFile{"infinite", kHead + "2004-03-01T00:00:00Z,1,-inf\n",
                "bad.csv:2: A>B: \"-inf\" is not a value; a cell that was not observed is left "
                "empty"},
        BadFile{"too_large", kHead + "2004-03-01T00:00:00Z,1,1e999\n",
                "bad.csv:2: A>B: \"1e999\" is beyond what a number can hold"},
        BadFile{"long_field", kHead + "2004-03-01T00:00:00Z," + std::string(90, 'x') + ",2\n",
                "bad.csv:2: A>A: \"" + std::string(40, 'x') + "...\" is not a number"},
        BadFile{"empty_line", kHead + kRow + "\n", "bad.csv:3: an empty line"}),
    [](const auto& file) { return std::string(file.param.what); });

TEST(TrafficReader, ReadsCellsHolesAndGapsAndKnowsTheBinWidth) {
  const Scratch scratch;
  const std::string path = scratch.write("good.csv",
                                         "\xEF\xBB\xBFtime,B>A,A>B,C>C\r\n"
                                         "2004-03-01T00:00:00Z,1,,-2.5e3\r\n"
                                         "2004-03-01 00:15:00,,,\r\n"
                                         "2004-03-01T01:20:00+01:00,4,5,6\r\n"
                                         "2004-03-01T00:25:00Z,7,8,9");  // no end of line
  auto reader = TrafficReader::open(path);
  ASSERT_TRUE(reader) << reader.error();
  EXPECT_EQ(reader->columns().nodes, (std::vector<std::string>{"B", "A", "C"}));
  EXPECT_EQ(reader->columns().pairs, (std::vector<Pair>{{0, 1}, {1, 0}, {2, 2}}));
  EXPECT_EQ(reader->bin_seconds(), 300);
  TrafficRow row;
  const std::vector<EpochSeconds> times = {0, 900, 1200, 1500};
  const std::vector<std::vector<double>> values = {
      {1, kNaN, -2500}, {kNaN, kNaN, kNaN}, {4, 5, 6}, {7, 8, 9}};
  for (std::size_t k = 0; k < times.size(); ++k) {
    const auto got = reader->next(row);
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(row.time - 1078099200, times[k]);
    EXPECT_EQ(row.line, k + 2);
    for (std::size_t column = 0; column < 3; ++column) {
      if (std::isnan(values[k][column]))
        EXPECT_TRUE(std::isnan(row.values[column]));
      else
        EXPECT_EQ(row.values[column], values[k][column]);
    }
  }
  EXPECT_EQ(reader->next(row), false);
  EXPECT_EQ(reader->next(row), false);
}

TEST(TrafficReader, KnowsNoBinWidthOfASingleRow) {
  const Scratch scratch;
  const auto reader = TrafficReader::open(scratch.write("one.csv", kHead + kRow));
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->bin_seconds(), std::nullopt);
}

TEST(TrafficReader, SaysWhichFileCannotBeRead) {
  const auto missing = TrafficReader::open("/nowhere/traffic.csv");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "/nowhere/traffic.csv: cannot be read: No such file or directory");
  const auto folder = TrafficReader::open("/tmp");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error(), "/tmp: is a folder, not a file");
}

TEST(TrafficReader, SaysThatAGzipFileIsCutShort) {
  const Scratch scratch;
  const std::string path = scratch.path("cut.csv.gz");
  auto writer = TrafficWriter::create(path, {"A>B"});
  ASSERT_TRUE(writer);
  test::Random random(3);
  for (int k = 0; k < 20000; ++k) {
    const double value = random.uniform();
    ASSERT_TRUE(writer->write(300 * k, std::span<const double>(&value, 1)));
  }
  ASSERT_TRUE(writer->close());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  auto reader = TrafficReader::open(path);
  std::string reason = reader ? "" : reader.error();
  TrafficRow row;
  while (reason.empty()) {
    const auto got = reader->next(row);
    if (!got)
      reason = got.error();
    else
      ASSERT_TRUE(*got) << "the file ended without a complaint";
  }
  EXPECT_EQ(reason, path + ": is cut short");
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, GivesTheSameNumbersBitForBit) {
  const Scratch scratch;
  const std::string path = scratch.path(GetParam());
  test::Random random(11);
  std::vector<std::vector<double>> rows(500, std::vector<double>(6));
  for (auto& row : rows)
    for (double& value : row)
      value = random.chance(0.1) ? kNaN : std::ldexp(random.normal(), random.index(2000) - 1000);
  rows[0] = {0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1.0 / 3.0};
  auto writer = TrafficWriter::create(path, {"A>A", "A>B", "A>C", "B>A", "B>B", "B>C"});
  ASSERT_TRUE(writer);
  for (std::size_t k = 0; k < rows.size(); ++k)
    ASSERT_TRUE(writer->write(EpochSeconds(k) * 900, std::span<const double>(rows[k])));
  ASSERT_TRUE(writer->close());
  auto reader = TrafficReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->bin_seconds(), 900);
  TrafficRow row;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    ASSERT_EQ(reader->next(row), true);
    EXPECT_EQ(row.time, EpochSeconds(k) * 900);
    for (std::size_t column = 0; column < 6; ++column)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(row.values[column])
                    << (std::isnan(row.values[column]) ? 63 : 0),
                std::bit_cast<std::uint64_t>(rows[k][column])
                    << (std::isnan(rows[k][column]) ? 63 : 0));
  }
  EXPECT_EQ(reader->next(row), false);
}

INSTANTIATE_TEST_SUITE_P(Files, RoundTrip, testing::Values("plain.csv", "packed.csv.gz"),
                         [](const auto& file) { return std::string(file.param).substr(0, 5); });

TEST(TrafficWriter, WritesTheShortestTextAndIsGzipOnlyWhenNamedSo) {
  const Scratch scratch;
  auto writer = TrafficWriter::create(scratch.path("t.csv"), {"A>A", "A>B"});
  ASSERT_TRUE(writer);
  const double values[] = {0.1, 1e300}, hole[] = {kNaN, 3};
  const float scores[] = {0.1f, -2.5f};
  ASSERT_TRUE(writer->write(1078099200, std::span<const double>(values)));
  ASSERT_TRUE(writer->write(1078099500, std::span<const double>(hole)));
  ASSERT_TRUE(writer->write(1078099800, std::span<const float>(scores)));
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(scratch.read("t.csv"),
            "time,A>A,A>B\n"
            "2004-03-01T00:00:00Z,0.1,1e+300\n"
            "2004-03-01T00:05:00Z,,3\n"
            "2004-03-01T00:10:00Z,0.1,-2.5\n");
}

TEST(TrafficWriter, SaysThatTheDiskIsFull) {
  auto writer = TrafficWriter::create("/dev/full", {"A>A"});
  ASSERT_TRUE(writer);
  const double value = 1;
  ASSERT_TRUE(writer->write(0, std::span<const double>(&value, 1)));
  const auto closed = writer->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error(), "/dev/full: cannot be written: No space left on device");
}

}  // namespace
}  // namespace outlierd::ctl
