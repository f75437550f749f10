#include "daemon/api/http_text.h"

#include <gtest/gtest.h>

#include <set>

#include "daemon/api/time_text.h"
#include "tests/support/http_client.h"
#include "tests/support/random.h"

namespace outlierd::api {
namespace {

TEST(PercentDecoded, TurnsEscapesIntoBytes) {
  EXPECT_EQ(percent_decoded("a%20b+c%2F", false), "a b+c/");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  for (const char* damaged : {"%", "%1", "%zz", "a%2"})
    EXPECT_FALSE(percent_decoded(damaged, false)) << damaged;
}

TEST(PercentDecoded, UndoesPercentEncoded) {
  test::Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int k = random.index(20); k > 0; --k) text += char(random.index(256));
    EXPECT_EQ(percent_decoded(percent_encoded(text), true), text);
  }
}

TEST(ParseQuery, KeepsOrderAndRepeats) {
  const auto pairs = parse_query("a=1&b=&a=2&&c");
  ASSERT_TRUE(pairs);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "1"}, {"b", ""}, {"a", "2"}, {"c", ""}};
  EXPECT_EQ(*pairs, expected);
  EXPECT_FALSE(parse_query("a=%G1"));
}

TEST(AcceptsGzip, ReadsQualities) {
  for (const char* yes : {"gzip", "deflate, gzip;q=0.5", "*", "GZIP", "br, *;q=0.1"})
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  for (const char* no : {"", "identity", "gzip;q=0", "*, gzip;q=0.0", "br", "*;q=0"})
    EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(NamesTag, ComparesWeakly) {
  EXPECT_TRUE(names_tag("W/\"1\"", "W/\"1\""));
  EXPECT_TRUE(names_tag("\"0\", \"1\"", "W/\"1\""));
  EXPECT_TRUE(names_tag("*", "W/\"1\""));
  EXPECT_FALSE(names_tag("\"2\"", "W/\"1\""));
  EXPECT_FALSE(names_tag("", "W/\"1\""));
}

TEST(WeakTag, ChangesWithEveryByteAndTheLength) {
  std::set<std::string> tags;
  const std::string text(100, 'a');
  for (std::size_t length = 0; length <= text.size(); ++length)
    EXPECT_TRUE(tags.insert(weak_tag(text.substr(0, length))).second) << length;
  for (std::size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[at] = char(changed[at] ^ (1 << bit));
      EXPECT_TRUE(tags.insert(weak_tag(changed)).second) << at << " " << bit;
    }
}

TEST(Gzip, IsUndoneByZlib) {
  test::Random random(4);
  for (std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{400000}}) {
    std::string text;
    for (std::size_t k = 0; k < size; ++k) text += char('a' + random.index(6));
    EXPECT_EQ(test::gunzip(gzip(text)), text) << size;
  }
}

TEST(HttpDate, IsThatOfTheStandardsExample) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(ValidUtf8, RefusesOverlongSurrogateAndCutSequences) {
  for (const char* good : {"", "abc", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
    EXPECT_TRUE(valid_utf8(good)) << good;
  for (const char* bad : {"\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC3",
                          "\x80", "\xFF", "\xE2\x82"})
    EXPECT_FALSE(valid_utf8(bad)) << bad;
}

TEST(TimeOf, ReadsWhatRfc3339Allows) {
  EXPECT_EQ(time_of("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(time_of("2004-03-01T00:05:00Z"), 1078099500);  // date -u -d ... +%s
  EXPECT_EQ(time_of("2004-03-01t01:05:00.999+01:00"), 1078099500);
  EXPECT_EQ(time_of("2004-03-01T01:05:00 01:00"), 1078099500);  // + of a query string
  EXPECT_EQ(time_of("2004-02-29T19:05:00-05:00"), 1078099500);
  EXPECT_EQ(time_of("1969-12-31T23:59:59z"), -1);
}

TEST(TimeOf, RefusesTheRest) {
  for (const char* bad :
       {"", "2004-03-01", "2004-03-01T00:05:00", "2004-02-30T00:00:00Z", "2004-13-01T00:00:00Z",
        "2004-03-01T24:00:00Z", "2004-03-01T00:60:00Z", "2004-03-01T00:00:61Z",
        "2004-03-01T00:05:00.Z", "2004-03-01T00:05:00Zx", "2004-03-01 00:05:00Z", "1078099500",
        "2004-03-01T00:05:00+24:00", "-004-03-01T00:05:00Z"})
    EXPECT_FALSE(time_of(bad)) << bad;
}

TEST(TimeText, IsUndoneByTimeOf) {
  test::Random random(5);
  for (int round = 0; round < 1000; ++round) {
    const auto time = std::int64_t((random.uniform() - 0.1) * 2e11);
    EXPECT_EQ(time_of(time_text(time)), time) << time_text(time);
  }
}

}  // namespace
}  // namespace outlierd::api
