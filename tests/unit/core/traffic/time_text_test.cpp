#include "core/traffic/time_text.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tests/support/random.h"

namespace outlierd {
namespace {

TEST(ParseTime, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_time("2004-03-01T00:05:00Z"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01t00:05:00z"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01 00:05:00Z"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01T01:05:00+01:00"), 1078099500);
  EXPECT_EQ(parse_time("2004-02-29T18:35:00-05:30"), 1078099500);
  EXPECT_EQ(parse_time("2004-03-01T00:05:00.000Z"), 1078099500);
  EXPECT_EQ(parse_time("1969-12-31T23:59:59Z"), -1);
}

class NotATime : public testing::TestWithParam<const char*> {};
TEST_P(NotATime, IsRefused) { EXPECT_EQ(parse_time(GetParam()), std::nullopt); }
INSTANTIATE_TEST_SUITE_P(Texts, NotATime,
                         testing::Values("", "now", "2004-03-01", "2004-03-01T00:05Z",
                                         "2004-03-01T00:05:00", "2004-13-01T00:05:00Z",
                                         "2004-00-01T00:05:00Z", "2005-02-29T00:00:00Z",
                                         "2004-03-01T24:00:00Z", "2004-03-01T00:60:00Z",
                                         "2004-03-01T00:00:60Z", "2004-03-01T00:05:00.5Z",
                                         "2004-03-01T00:05:00.Z", "2004-03-01T00:05:00Zz",
                                         "2004-03-01T00:05:00+24:00", "+004-03-01T00:05:00Z",
                                         "2004-03-01T00:05:00+0100", "0000-01-01T00:00:00Z"));

TEST(TimeText, IsWhatTheSystemsCalendarSays) {
  test::Random random(5);
  for (int k = 0; k < 20000; ++k) {
    const std::time_t time = std::time_t(-6e10 + 3.1e11 * random.uniform());
    std::tm parts{};
    gmtime_r(&time, &parts);
    char expected[64];
    std::snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    ASSERT_EQ(time_text(time), expected);
    ASSERT_EQ(parse_time(expected), time) << expected;
  }
}

}  // namespace
}  // namespace outlierd
