#include "config/values.h"

#include <gtest/gtest.h>

#include <limits>

#include "config/map_reader.h"

namespace outlierd::config {
namespace {

using namespace std::chrono_literals;

TEST(Duration, IsANumberAndItsUnit) {
  EXPECT_EQ(*parse_duration("500ms"), 500ms);
  EXPECT_EQ(*parse_duration("30s"), 30s);
  EXPECT_EQ(*parse_duration("5m"), 5min);
  EXPECT_EQ(*parse_duration("1h"), 1h);
  EXPECT_EQ(*parse_duration("30d"), 720h);
  EXPECT_EQ(*parse_duration("30 s"), 30s);
  EXPECT_EQ(*parse_duration("0s"), 0s);
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "s", "5", "-5s", "+5s", "5.5s", "5S", "5min", "5s ", " 5s", "5  s",
                           "1h30m", "99999999999999999999s", "9223372036854775807d", "0x5s"})
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
}

TEST(Duration, IsWrittenInItsLargestUnitAndReadBack) {
  EXPECT_EQ(text_of(300s), "5m");
  EXPECT_EQ(text_of(90s), "90s");
  EXPECT_EQ(text_of(1500ms), "1500ms");
  EXPECT_EQ(text_of(48h), "2d");
  for (auto duration : {std::chrono::milliseconds(0), std::chrono::milliseconds(1),
                        std::chrono::milliseconds(86400001)})
    EXPECT_EQ(*parse_duration(text_of(duration)), duration);
}

TEST(Size, IsANumberAndItsUnit) {
  EXPECT_EQ(*parse_size("4MiB"), 4194304u);
  EXPECT_EQ(*parse_size("10GiB"), 10737418240u);
  EXPECT_EQ(*parse_size("64KiB"), 65536u);
  EXPECT_EQ(*parse_size("500MB"), 500000000u);
  EXPECT_EQ(*parse_size("2TB"), 2000000000000u);
  EXPECT_EQ(*parse_size("7B"), 7u);
}

TEST(Size, RefusesWhatIsNone) {
  for (const char* text : {"", "4", "4M", "4mib", "-4MiB", "4.5MiB", "MiB", "99999999999TiB"})
    EXPECT_FALSE(parse_size(text).has_value()) << text;
}

TEST(Size, IsReadBackFromItsText) {
  EXPECT_EQ(size_text(67108864), "64MiB");
  EXPECT_EQ(size_text(500000000), "500MB");
  for (std::uint64_t bytes : {0ull, 1ull, 1025ull, 1000ull, 5000000000ull, 1ull << 50})
    EXPECT_EQ(*parse_size(size_text(bytes)), bytes);
}

TEST(Real, IsFiniteAndReadBackExactly) {
  for (const char* text :
       {"nan", ".nan", "inf", "-inf", ".inf", "1e999", "", "1,5", "1.5x", "0x1p3"})
    EXPECT_FALSE(parse_real(text).has_value()) << text;
  for (double value : {0.1, 1.0 / 3.0, 1e-300, 0.98, 12345678.9})
    EXPECT_EQ(*parse_real(text_of(value)), value);
}

TEST(Name, HoldsLettersDigitsAndThreeSigns) {
  EXPECT_TRUE(parse_name("Core-1.fra_2").has_value());
  EXPECT_TRUE(parse_name(std::string(64, 'x')).has_value());
  for (const std::string& text :
       {std::string(), std::string(65, 'x'), std::string("a b"), std::string("a>b"),
        std::string("a/b"), std::string("\xc3\xa4"), std::string("a\nb"), std::string("a\0b", 3)})
    EXPECT_FALSE(parse_name(text).has_value()) << text;
}

TEST(Nearest, FindsWhatWasMeantAndNothingFarAway) {
  const std::vector<std::string> known = {"window", "forgetting", "max_rank"};
  EXPECT_EQ(nearest("windwo", known), "window");
  EXPECT_EQ(nearest("maxrank", known), "max_rank");
  EXPECT_EQ(nearest("forgeting", known), "forgetting");
  EXPECT_EQ(nearest("threads", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'w'), known), std::nullopt);
}

TEST(Shown, IsShortAndHoldsNoControlCharacter) {
  EXPECT_EQ(shown("a\nb\x1b"), "a?b?");
  EXPECT_EQ(shown(std::string(70, 'x')), std::string(64, 'x') + "...");
  std::string umlauts = "x";
  for (int k = 0; k < 40; ++k) umlauts += "\xc3\xa4";
  const std::string cut = shown(umlauts);
  EXPECT_EQ(cut.substr(cut.size() - 5), "\xc3\xa4...");
}

}  // namespace
}  // namespace outlierd::config
