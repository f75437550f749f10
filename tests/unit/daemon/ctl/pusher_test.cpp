#include "daemon/ctl/pusher.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "daemon/ctl/times.h"
#include "tests/unit/daemon/ctl/fake_daemon.h"
#include "tests/unit/daemon/ctl/scratch.h"

namespace outlierd::ctl {
namespace {

using Json = nlohmann::json;
using test::FakeDaemon;
using test::Reaction;
using test::Scratch;
using Speaks = FakeDaemon::Speaks;

constexpr EpochSeconds kStart = 1078099200;  // 2004-03-01

std::string traffic(int rows) {
  std::string text = "time,A>A,A>B,B>A\n";
  for (int k = 0; k < rows; ++k)
    text += format_time(kStart + 300 * k) + "," + std::to_string(k) + ",,0.5\n";
  return text;
}

Reaction accept(const std::string& line) {
  const Json part = Json::parse(line);
  return {Json{{"ok", true}, {"network", part["network"]}, {"time", part["time"]}, {"cells", 3}}
              .dump() +
          "\n"};
}
Reaction refuse(const std::string& error) {
  return {Json{{"ok", false}, {"line", 7}, {"error", error}}.dump() + "\n"};
}

struct Push {
  PushSummary summary;
  std::vector<std::string> notices;
};

Push push(const FakeDaemon& daemon, int rows, std::function<void(PushOptions&)> change = {},
          bool cbor = false, const std::string& token = {}, bool http = false) {
  const Scratch scratch;
  auto reader = TrafficReader::open(scratch.write("t.csv", traffic(rows)));
  PushOptions options;
  options.to = *parse_address(daemon.address(http ? "http" : "tcp"));
  options.first_delay_seconds = 0.01;
  options.longest_delay_seconds = 0.05;
  options.give_up_seconds = 5.0;
  if (change) change(options);
  SliceMessage message(reader->columns(), "net", "csv", *reader->bin_seconds());
  auto protocol = http ? http_protocol(std::move(message), options.to, "net", token, cbor)
                       : line_protocol(std::move(message), token);
  Push result;
  Pusher pusher(
      options, std::move(protocol), *reader,
      [&](const std::string& text) { result.notices.push_back(text); }, [](double, std::size_t) {});
  result.summary = pusher.run();
  return result;
}

std::vector<std::string> times_of(const std::vector<std::string>& lines) {
  std::vector<std::string> times;
  for (const std::string& line : lines) times.push_back(Json::parse(line)["time"]);
  return times;
}

TEST(Pusher, SendsEveryBinOnceInOrderWithSourceAndSequence) {
  FakeDaemon daemon(Speaks::kLines, [](int, int, const std::string& line) { return accept(line); });
  const Push result = push(daemon, 1000);
  EXPECT_EQ(result.summary.accepted, 1000u);
  EXPECT_EQ(result.summary.sent, 1000u);
  EXPECT_EQ(result.summary.connections, 1u);
  EXPECT_TRUE(result.summary.stopped.empty()) << result.summary.stopped;
  const auto lines = daemon.received();
  ASSERT_EQ(lines.size(), 1000u);
  for (int k = 0; k < 1000; ++k) {
    const Json part = Json::parse(lines[std::size_t(k)]);
    ASSERT_EQ(part["time"], format_time(kStart + 300 * k));
    ASSERT_EQ(part["sequence"], kStart / 300 + k);
  }
  EXPECT_EQ(Json::parse(lines[3]),
            Json::parse(R"({"network":"net","time":"2004-03-01T00:15:00Z","nodes":["A","B"],
                 "values":[[3,null],[0.5,null]],"source":"csv","sequence":3593667,"complete":true})"));
}

TEST(Pusher, NeverHasMoreUnansweredThanItsWindow) {
  // Answers nothing until the window is full, then everything: more than the window would hang
  // here or be seen.
  std::vector<std::string> held;
  FakeDaemon daemon(Speaks::kLines, [&](int, int, const std::string& line) {
    held.push_back(accept(line).reply);
    if (held.size() < 10) return Reaction{};
    Reaction all;
    for (const std::string& reply : held) all.reply += reply;
    held.clear();
    return all;
  });
  const Push result = push(daemon, 100, [](PushOptions& options) { options.window = 10; });
  EXPECT_EQ(result.summary.accepted, 100u);
}

TEST(Pusher, SendsAgainWhatWasNotAnsweredWhenTheConnectionBreaks) {
  std::map<std::string, int> taken;  // what the daemon made durable
  FakeDaemon daemon(Speaks::kLines, [&](int connection, int message, const std::string& line) {
    ++taken[Json::parse(line)["time"]];
    // Twice it breaks just after a line was taken, before its answer.
    if (connection < 2 && message == 37) return Reaction{"", true};
    return accept(line);
  });
  const Push result = push(daemon, 200);
  EXPECT_EQ(result.summary.accepted, 200u);
  EXPECT_EQ(result.summary.connections, 3u);
  EXPECT_GE(result.summary.resent, 2u);
  EXPECT_EQ(taken.size(), 200u);
  ASSERT_EQ(result.notices.size(), 2u);
  EXPECT_NE(result.notices[0].find("broke"), std::string::npos);
  // Order within each connection.
  auto times = times_of(daemon.received());
  EXPECT_EQ(times.back(), format_time(kStart + 300 * 199));
}

TEST(Pusher, TakesLateAsAlreadyThereForBinsOlderThanWhatItBrought) {
  FakeDaemon daemon(Speaks::kLines, [](int, int message, const std::string& line) {
    return message < 40 ? refuse("late: bin closed") : accept(line);
  });
  const Push result = push(daemon, 100);
  EXPECT_EQ(result.summary.already_there, 40u);
  EXPECT_EQ(result.summary.accepted, 60u);
  EXPECT_EQ(result.summary.late, 0u);
  EXPECT_TRUE(result.notices.empty());
}

TEST(Pusher, TakesLateAsAlreadyThereForABinWhoseAnswerWasLost) {
  std::map<std::string, int> taken;
  FakeDaemon daemon(Speaks::kLines, [&](int connection, int message, const std::string& line) {
    if (taken[Json::parse(line)["time"]]++ > 0) return refuse("late");
    if (connection == 0 && message == 10) return Reaction{"", true};
    return accept(line);
  });
  const Push result = push(daemon, 50);
  EXPECT_EQ(result.summary.already_there, 1u);
  EXPECT_EQ(result.summary.accepted, 49u);
  EXPECT_EQ(result.summary.late, 0u);
}

TEST(Pusher, SaysWhichBinsAreLateAlthoughItBroughtTheOnesBefore) {
  FakeDaemon daemon(Speaks::kLines, [](int, int message, const std::string& line) {
    return message == 5 ? refuse("late: another source closed it") : accept(line);
  });
  const Push result = push(daemon, 10);
  EXPECT_EQ(result.summary.late, 1u);
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_NE(result.notices[0].find(
                ":7: bin 2004-03-01T00:25:00Z is late: late: another source closed it"),
            std::string::npos)
      << result.notices[0];
}

TEST(Pusher, SendsAgainLaterWhatWasNotDurable) {
  std::map<std::string, int> seen;
  FakeDaemon daemon(Speaks::kLines, [&](int, int, const std::string& line) {
    const std::string time = Json::parse(line)["time"];
    if (++seen[time] <= 2 && time < format_time(kStart + 300 * 20))
      return Reaction{"{\"ok\":false,\"error\":\"not durable\",\"retry\":true}\n"};
    return accept(line);
  });
  const Push result = push(daemon, 60, [](PushOptions& options) { options.window = 8; });
  EXPECT_EQ(result.summary.accepted, 60u);
  EXPECT_EQ(result.summary.resent, 40u);
  EXPECT_EQ(result.summary.refused, 0u);
  EXPECT_EQ(seen.size(), 60u);
}

TEST(Pusher, StopsWhenNothingBecomesDurableForLong) {
  FakeDaemon daemon(Speaks::kLines, [](int, int, const std::string&) {
    return Reaction{"{\"ok\":false,\"error\":\"not durable\",\"retry\":true}\n"};
  });
  const Push result = push(daemon, 10, [](PushOptions& options) { options.give_up_seconds = 0.2; });
  EXPECT_EQ(result.summary.stopped, "nothing was durable for 0.2 s: not durable");
}

TEST(Pusher, SaysLineTimeAndReasonOfWhatIsRefused) {
  FakeDaemon daemon(Speaks::kLines, [](int, int message, const std::string& line) {
    return message == 2 ? refuse("values[0][0]: not a number") : accept(line);
  });
  const Push result = push(daemon, 5);
  EXPECT_EQ(result.summary.refused, 1u);
  EXPECT_EQ(result.summary.accepted, 4u);
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_NE(result.notices[0].find(
                "t.csv:4: bin 2004-03-01T00:10:00Z refused: values[0][0]: not a number"),
            std::string::npos)
      << result.notices[0];
}

TEST(Pusher, GivesUpWhenEverythingIsRefused) {
  FakeDaemon daemon(Speaks::kLines,
                    [](int, int, const std::string&) { return refuse("no such network"); });
  const Push result = push(daemon, 5000);
  EXPECT_EQ(result.summary.stopped, "the first 100 bins were refused");
  EXPECT_LE(result.notices.size(), 20u);
}

TEST(Pusher, SkipsWhatTheDaemonHas) {
  FakeDaemon daemon(Speaks::kLines, [](int, int, const std::string& line) { return accept(line); });
  const Push result =
      push(daemon, 10, [](PushOptions& options) { options.after = kStart + 300 * 6; });
  EXPECT_EQ(result.summary.skipped, 7u);
  EXPECT_EQ(times_of(daemon.received()),
            (std::vector<std::string>{format_time(kStart + 2100), format_time(kStart + 2400),
                                      format_time(kStart + 2700)}));
}

TEST(Pusher, KeepsToItsSpeed) {
  FakeDaemon daemon(Speaks::kLines, [](int, int, const std::string& line) { return accept(line); });
  const Push result = push(daemon, 11, [](PushOptions& options) { options.bins_a_second = 50; });
  EXPECT_EQ(result.summary.accepted, 11u);
  EXPECT_GE(result.summary.seconds, 10 / 50.0);  // the first goes at once
}

TEST(Pusher, SaysThatNobodyListens) {
  std::string address;
  {
    FakeDaemon daemon(Speaks::kLines, [](int, int, const std::string&) { return Reaction{}; });
    address = daemon.address("tcp");
  }
  const Scratch scratch;
  auto reader = TrafficReader::open(scratch.write("t.csv", traffic(2)));
  PushOptions options;
  options.to = *parse_address(address);
  Pusher pusher(
      options, line_protocol(SliceMessage(reader->columns(), "n", "s", 300), ""), *reader,
      [](const std::string&) {}, [](double, std::size_t) {});
  const PushSummary summary = pusher.run();
  EXPECT_TRUE(summary.unreachable);
  EXPECT_EQ(summary.stopped, "Connection refused");
}

class WithToken : public testing::TestWithParam<bool> {};

TEST_P(WithToken, SendsItFirstWhetherItsLineIsAnsweredOrNot) {
  const bool answered = GetParam();
  FakeDaemon daemon(Speaks::kLines, [answered](int, int message, const std::string& line) {
    if (message > 0) return accept(line);
    return Reaction{answered ? "{\"ok\":true}\n" : ""};
  });
  const Push result = push(daemon, 20, {}, false, "secret");
  EXPECT_EQ(result.summary.accepted, 20u);
  EXPECT_EQ(daemon.received()[0], "{\"token\":\"secret\"}");
}
INSTANTIATE_TEST_SUITE_P(Answered, WithToken, testing::Bool());

TEST(Pusher, StopsWhenTheTokenIsRefused) {
  FakeDaemon daemon(Speaks::kLines, [](int, int, const std::string&) {
    return Reaction{"{\"ok\":false,\"line\":1,\"error\":\"unknown token\"}\n", true};
  });
  const Push result = push(daemon, 20, {}, false, "wrong");
  EXPECT_EQ(result.summary.stopped, "the daemon refuses: unknown token");
}

TEST(PusherOverHttp, PostsEachBinAndUnderstandsTheStatus) {
  FakeDaemon daemon(Speaks::kHttp, [](int, int message, const std::string&) {
    if (message < 3) return Reaction{test::http_reply(409, "{\"title\":\"late\"}")};
    if (message == 5)
      return Reaction{test::http_reply(422, "{\"detail\":\"values: wrong shape\"}")};
    return Reaction{test::http_reply(202, "{\"ok\":true}")};
  });
  const Push result = push(daemon, 40, {}, false, "secret", true);
  EXPECT_EQ(result.summary.already_there, 3u);
  EXPECT_EQ(result.summary.refused, 1u);
  EXPECT_EQ(result.summary.accepted, 36u);
  const std::string first = daemon.received()[0];
  EXPECT_TRUE(first.starts_with("POST /api/v1/networks/net/slices HTTP/1.1\r\n")) << first;
  EXPECT_NE(first.find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
  const Json part = Json::parse(first.substr(first.find("\r\n\r\n") + 4));
  EXPECT_EQ(part["time"], "2004-03-01T00:00:00Z");
}

TEST(PusherOverHttp, PacksValuesAsFloat32InCbor) {
  FakeDaemon daemon(Speaks::kHttp, [](int, int, const std::string&) {
    return Reaction{test::http_reply(202, "{\"ok\":true}")};
  });
  ASSERT_EQ(push(daemon, 3, {}, true, "", true).summary.accepted, 3u);
  const std::string last = daemon.received()[2];
  EXPECT_NE(last.find("\r\nContent-Type: application/cbor\r\n"), std::string::npos);
  const std::string body = last.substr(last.find("\r\n\r\n") + 4);
  const Json part = Json::from_cbor(body, true, true, Json::cbor_tag_handler_t::store);
  EXPECT_EQ(part["network"], "net");
  EXPECT_EQ(part["time"], "2004-03-01T00:10:00Z");
  EXPECT_EQ(part["nodes"], (Json{"A", "B"}));
  EXPECT_EQ(part["sequence"], kStart / 300 + 2);
  EXPECT_EQ(part["complete"], true);
  ASSERT_TRUE(part["values"].is_binary());
  const auto& bytes = part["values"].get_binary();
  EXPECT_EQ(bytes.subtype(), 85u);
  ASSERT_EQ(bytes.size(), 16u);
  float values[4];
  std::memcpy(values, bytes.data(), sizeof values);  // this machine is little-endian too
  EXPECT_EQ(values[0], 2.0f);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 0.5f);
  EXPECT_TRUE(std::isnan(values[3]));  // B>B has no column
}

}  // namespace
}  // namespace outlierd::ctl
