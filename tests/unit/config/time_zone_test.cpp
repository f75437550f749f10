#include "config/time_zone.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace outlierd::config {
namespace {

constexpr const char* kFolder = "/usr/share/zoneinfo";
#define NEEDS_ZONE_FILES()                                               \
  if (!std::filesystem::exists(std::string(kFolder) + "/Europe/Berlin")) \
  GTEST_SKIP() << "tzdata is not installed"

EpochSeconds utc(int year, int month, int day, int hour, int minute = 0, int second = 0) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  return timegm(&parts);
}

// The first second of a new offset, and the second before it.
void expect_switch(const TimeZone& zone, EpochSeconds at, int before, int after) {
  EXPECT_EQ(zone.offset_at(at - 1), before) << at;
  EXPECT_EQ(zone.offset_at(at), after) << at;
}

TEST(TimeZone, UtcNeedsNoFile) {
  EXPECT_EQ(local_offset("UTC", 0), 0);
  EXPECT_EQ(TimeZone().offset_at(std::numeric_limits<EpochSeconds>::max()), 0);
}

TEST(TimeZone, SwitchesInBerlinAtOneInTheMorningUtc) {
  NEEDS_ZONE_FILES();
  const auto berlin = TimeZone::load("Europe/Berlin");
  ASSERT_TRUE(berlin.has_value()) << berlin.error();
  expect_switch(*berlin, utc(2004, 3, 28, 1), 3600, 7200);
  expect_switch(*berlin, utc(2004, 10, 31, 1), 7200, 3600);
  expect_switch(*berlin, utc(2026, 3, 29, 1), 3600, 7200);
  expect_switch(*berlin, utc(2026, 10, 25, 1), 7200, 3600);
  expect_switch(*berlin, utc(2040, 3, 25, 1), 3600, 7200);  // past the table: the footer's rule
  expect_switch(*berlin, utc(2040, 10, 28, 1), 7200, 3600);
}

TEST(TimeZone, SwitchesInNewYorkByTheLawOfTheYear) {
  NEEDS_ZONE_FILES();
  const auto york = TimeZone::load("America/New_York");
  ASSERT_TRUE(york.has_value()) << york.error();
  expect_switch(*york, utc(2004, 4, 4, 7), -18000, -14400);
  expect_switch(*york, utc(2004, 10, 31, 6), -14400, -18000);
  expect_switch(*york, utc(2007, 3, 11, 7), -18000, -14400);
  expect_switch(*york, utc(2007, 11, 4, 6), -14400, -18000);
  expect_switch(*york, utc(2040, 3, 11, 7), -18000, -14400);
  expect_switch(*york, utc(2040, 11, 4, 6), -14400, -18000);
}

TEST(TimeZone, NeverSwitchesInKolkata) {
  NEEDS_ZONE_FILES();
  const auto kolkata = TimeZone::load("Asia/Kolkata");
  ASSERT_TRUE(kolkata.has_value()) << kolkata.error();
  for (int year = 2004; year <= 2040; ++year)
    for (int month = 1; month <= 12; ++month)
      EXPECT_EQ(kolkata->offset_at(utc(year, month, 15, 0)), 19800);
}

// The C library reads the same files with code of its own.
TEST(TimeZone, AgreesWithTheCLibraryInEveryKindOfZone) {
  NEEDS_ZONE_FILES();
  const char* const former = getenv("TZ");
  const std::string kept = former ? former : "";
  for (const char* name :
       {"Europe/Berlin", "Europe/Dublin", "Europe/London", "America/New_York", "America/Santiago",
        "America/St_Johns", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran", "Asia/Gaza",
        "Australia/Lord_Howe", "Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham",
        "Pacific/Apia", "Africa/Casablanca", "America/Nuuk", "Antarctica/Troll", "Etc/GMT+5"}) {
    SCOPED_TRACE(name);
    const auto zone = TimeZone::load(name);
    ASSERT_TRUE(zone.has_value()) << zone.error();
    setenv("TZ", (":" + std::string(name)).c_str(), 1);
    tzset();
    constexpr EpochSeconds kStep = 29 * 3600 + 1800;
    for (EpochSeconds time = utc(1985, 1, 1, 0); time < utc(2105, 1, 1, 0); time += kStep) {
      const std::time_t moment = time;
      std::tm parts{};
      localtime_r(&moment, &parts);
      ASSERT_EQ(zone->offset_at(time), parts.tm_gmtoff) << time;
    }
  }
  former ? setenv("TZ", kept.c_str(), 1) : unsetenv("TZ");
  tzset();
}

TEST(TimeZone, IsOnlyWhatLiesInTheFolderOfZoneFiles) {
  for (const char* name : {"", "/", "..", "../zoneinfo/Europe/Berlin", "Europe/../Europe/Berlin",
                           "/etc/passwd", "Europe//Berlin", "Europe/", "Europe", "./UTC",
                           "Europe/Berlin\n", "Mars/Olympus", "zone.tab", "CET-1CEST"})
    EXPECT_FALSE(TimeZone::load(name).has_value()) << name;
  EXPECT_EQ(local_offset("Mars/Olympus", 0), std::nullopt);
}

TEST(TimeZone, SurvivesADamagedFile) {
  NEEDS_ZONE_FILES();
  std::ifstream in(std::string(kFolder) + "/Europe/Berlin", std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto parse = [](const std::string& text) {
    return TimeZone::parse(std::as_bytes(std::span(text)));
  };
  ASSERT_TRUE(parse(good).has_value());
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse(good.substr(0, length)).has_value()) << length;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (char byte : {'\0', '\x7f', '\xff'}) {
      std::string damaged = good;
      damaged[at] = byte;
      if (const auto zone = parse(damaged)) {
        for (EpochSeconds time : {std::numeric_limits<EpochSeconds>::min(), EpochSeconds{0},
                                  std::numeric_limits<EpochSeconds>::max()})
          zone->offset_at(time);
      }
    }
  }
}

TEST(TimeZoneRule, KnowsEveryFormOfPosix) {
  const auto west = parse_time_zone_rule("EST5EDT,M3.2.0,M11.1.0");
  ASSERT_TRUE(west.has_value());
  EXPECT_EQ(west->offset_at(utc(2030, 1, 1, 0)), -18000);
  EXPECT_EQ(west->offset_at(utc(2030, 7, 1, 0)), -14400);

  const auto south = parse_time_zone_rule("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");  // Lord Howe
  ASSERT_TRUE(south.has_value());
  EXPECT_EQ(south->offset_at(utc(2030, 1, 1, 0)), 39600);
  EXPECT_EQ(south->offset_at(utc(2030, 7, 1, 0)), 37800);

  const auto negative = parse_time_zone_rule("IST-1GMT0,M10.5.0,M3.5.0/1");  // Dublin
  ASSERT_TRUE(negative.has_value());
  EXPECT_EQ(negative->offset_at(utc(2030, 1, 1, 0)), 0);
  EXPECT_EQ(negative->offset_at(utc(2030, 7, 1, 0)), 3600);

  // Day 60 is the first of March whether the year is a leap year or not; counted from zero with
  // leap days, it is the first of March only in a leap year.
  const auto julian = parse_time_zone_rule("AAA0BBB,J60/0,J300");
  const auto counted = parse_time_zone_rule("AAA0BBB,60/0,300");
  ASSERT_TRUE(julian.has_value() && counted.has_value());
  for (int year : {2027, 2028}) {
    EXPECT_EQ(julian->offset_at(utc(year, 3, 1, 0) - 1), 0);
    EXPECT_EQ(julian->offset_at(utc(year, 3, 1, 0)), 3600);
  }
  EXPECT_EQ(counted->offset_at(utc(2027, 3, 2, 0) - 1), 0);
  EXPECT_EQ(counted->offset_at(utc(2027, 3, 2, 0)), 3600);
  EXPECT_EQ(counted->offset_at(utc(2028, 3, 1, 0) - 1), 0);
  EXPECT_EQ(counted->offset_at(utc(2028, 3, 1, 0)), 3600);

  const auto hours = parse_time_zone_rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0");  // Nuuk
  ASSERT_TRUE(hours.has_value());
  EXPECT_EQ(hours->offset_at(utc(2030, 3, 31, 1) - 1), -7200);  // Saturday 23:00 local
  EXPECT_EQ(hours->offset_at(utc(2030, 3, 31, 1)), -3600);
}

TEST(TimeZoneRule, RefusesWhatIsNone) {
  for (const char* text :
       {"", "CET", "C-1", "-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J1",
        "CET-1CEST,366,1", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1:60", "CET-200", "<CET-1",
        "CET-1CEST,M3.5.0,M10.5.0,", "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-99999999999999"})
    EXPECT_FALSE(parse_time_zone_rule(text).has_value()) << text;
}

}  // namespace
}  // namespace outlierd::config
