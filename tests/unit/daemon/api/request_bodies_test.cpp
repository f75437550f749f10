#include "daemon/api/request_bodies.h"

#include <gtest/gtest.h>

namespace outlierd::api {
namespace {

constexpr EpochSeconds kNow = 1078099500;  // 2004-03-01T00:05:00Z

std::string problem(std::string_view body) {
  const auto silence = parse_silence(body, kNow);
  return silence ? "" : silence.error();
}

TEST(ParseSilence, ReadsEveryCondition) {
  const auto silence = parse_silence(
      R"({"network":"a","origin":"N0","destination":"N1","node":"N2","shape":"ddos",
          "starts":"2004-03-01T01:00:00Z","ends":"2004-03-01T02:00:00Z","comment":"works","by":"me"})",
      kNow);
  ASSERT_TRUE(silence) << silence.error();
  EXPECT_EQ(silence->network, "a");
  EXPECT_EQ(silence->origin, "N0");
  EXPECT_EQ(silence->destination, "N1");
  EXPECT_EQ(silence->node, "N2");
  EXPECT_EQ(silence->shape, Shape::kDdos);
  EXPECT_EQ(silence->ends - silence->starts, 3600);
  EXPECT_EQ(silence->comment, "works");
  EXPECT_EQ(silence->created_by, "me");
}

TEST(ParseSilence, BeginsNowAndLastsAsLongAsSaid) {
  const auto silence = parse_silence(R"({"node":"N0","duration_seconds":60})", kNow);
  ASSERT_TRUE(silence) << silence.error();
  EXPECT_EQ(silence->starts, kNow);
  EXPECT_EQ(silence->ends, kNow + 60);
}

TEST(ParseSilence, SaysWhatIsWrong) {
  EXPECT_EQ(problem("{"), "the body is not JSON");
  EXPECT_EQ(problem("[]"), "the body is not a JSON object");
  EXPECT_EQ(problem(R"({"node":7,"duration_seconds":60})"), "node is not a string");
  EXPECT_EQ(problem(R"({"node":"","duration_seconds":60})"), "node is empty");
  EXPECT_EQ(problem(R"({"node":"a"})"), "exactly one of ends and duration_seconds is needed");
  EXPECT_EQ(problem(R"({"node":"a","duration_seconds":0})"),
            "duration_seconds must be a whole number between 1 and 31622400");
  EXPECT_EQ(problem(R"({"node":"a","duration_seconds":1e99})"),
            "duration_seconds must be a whole number between 1 and 31622400");
  EXPECT_EQ(problem(R"({"node":"a","ends":"soon"})"),
            "ends is not a time such as 2004-03-01T00:05:00Z");
  EXPECT_EQ(problem(R"({"node":"a","ends":"2004-02-01T00:00:00Z"})"),
            "ends must lie behind starts");
  EXPECT_EQ(
      problem(R"({"node":"a","starts":"2003-01-01T00:00:00Z","ends":"2004-02-01T00:00:00Z"})"),
      "ends lies in the past");
  EXPECT_EQ(problem(R"({"duration_seconds":60})"),
            "at least one of network, origin, destination, node, shape is needed");
  EXPECT_EQ(problem(R"({"nodes":"a","duration_seconds":60})"),
            "\"nodes\" is not known here (did you mean node?)");
  EXPECT_EQ(problem(R"({"shape":"blob","duration_seconds":60})"),
            "shape must be one of spike, drop, ddos, scan, outage, shift, level, network");
}

TEST(ParseAck, TakesNothingOrACommentAndAName) {
  EXPECT_TRUE(parse_ack(""));
  const auto ack = parse_ack(R"({"by":"me","comment":"on it"})");
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->by, "me");
  EXPECT_EQ(ack->comment, "on it");
  EXPECT_EQ(parse_ack("7").error(), "the body is not a JSON object");
  EXPECT_EQ(parse_ack(R"({"coment":""})").error(),
            "\"coment\" is not known here (did you mean comment?)");
}

}  // namespace
}  // namespace outlierd::api
