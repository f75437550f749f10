// The real binary against a daemon that speaks the promised protocol: what it asks, what it prints,
// its exit codes.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/unit/daemon/ctl/fake_daemon.h"
#include "tests/unit/daemon/ctl/scratch.h"

namespace outlierd::ctl {
namespace {

using Json = nlohmann::json;
using test::FakeDaemon;
using test::http_reply;
using test::Reaction;
using test::Scratch;

struct Outcome {
  int code;
  std::string out, error;
};

// environment: "NAME=value" before the command, as a shell takes it.
Outcome outlierctl(const std::string& words, const std::string& environment = "") {
  const Scratch scratch;
  const std::string command = "env -u OUTLIERD_URL " + environment + " timeout 60 " OUTLIERCTL " " +
                              words + " >" + scratch.path("out") + " 2>" + scratch.path("error") +
                              " </dev/null";
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, scratch.read("out"), scratch.read("error")};
}

using Answers = std::map<std::string, std::string>;

// Answers by the request's first line, e.g. {"GET /api/v1/status", "{...}"}.
class Api {
 public:
  explicit Api(const Answers& answers)
      : daemon_(FakeDaemon::Speaks::kHttp, [answers](int, int, const std::string& request) {
          const std::string line = request.substr(0, request.find(" HTTP/1.1"));
          const auto found = answers.find(line);
          if (found != answers.end()) return Reaction{http_reply(200, found->second)};
          return Reaction{http_reply(404, R"({"title":"Not Found","detail":"no )" + line + "\"}",
                                     "application/problem+json")};
        }) {}
  Outcome run(const std::string& words) const {
    return outlierctl("--url " + daemon_.address("http") + " " + words);
  }
  std::vector<std::string> requests() const { return daemon_.received(); }
  std::string body(std::size_t k) const {
    const std::string request = requests().at(k);
    return request.substr(request.find("\r\n\r\n") + 4);
  }

 private:
  FakeDaemon daemon_;
};

const char* const kStatus =
    R"({"version":"0.1.0","uptime_seconds":273600,"networks":[
    {"name":"abilene","last_slice":"2004-03-01T00:05:00Z","bins_behind":0,"warmup":1,"rank":6,"open_events":2},
    {"name":"new","last_slice":null,"bins_behind":null,"warmup":0.25,"rank":0,"open_events":0}]})";

const char* const kEvent =
    R"({"id":"e1","network":"abilene","state":"open","shape":"ddos","direction":"up",
    "summary":"7 origins send 4.1x the expected traffic to CHIN","opened":"2004-03-01T00:05:00Z",
    "updated":"2004-03-01T00:25:00Z","closed":null,"peak_score":12.4,"excess":5120.0,
    "origins":["ATLA","DNVR"],"destinations":["CHIN"],
    "cells":[{"origin":"ATLA","destination":"CHIN","observed":912.0,"expected":201.3,"score":9.1}],
    "acknowledged":null,"silenced":false})";

TEST(Outlierctl, SaysHowTheDaemonIs) {
  const Api api(Answers{{"GET /api/v1/status", kStatus}});
  const Outcome outcome = api.run("status");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.out,
            "outlierd 0.1.0, up 3 d 4 h\n\n"
            "NETWORK  LAST SLICE            BEHIND  WARM-UP  RANK  OPEN EVENTS\n"
            "abilene  2004-03-01T00:05:00Z       0     100%     6            2\n"
            "new      -                          -      25%     0            0\n");
}

TEST(Outlierctl, PrintsTheAnswerAsItCameForScripts) {
  const Api api(Answers{{"GET /api/v1/status", kStatus}});
  EXPECT_EQ(api.run("-o json status").out, std::string(kStatus) + "\n");
  EXPECT_EQ(api.run("status -o json").out, std::string(kStatus) + "\n");
}

TEST(Outlierctl, ListsEventsPageAfterPageUpToTheLimit) {
  const Api api(Answers{{"GET /api/v1/events?state=open&limit=3",
                         R"({"items":[{"id":"a"},{"id":"b"}],"next":"c 1"})"},
                        {"GET /api/v1/events?state=open&limit=1&cursor=c%201",
                         R"({"items":[{"id":"c"}],"next":"c 2"})"}});
  const Outcome outcome = api.run("events --state open --limit 3 -o json");
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.out, R"({"items":[{"id":"a"},{"id":"b"},{"id":"c"}],"next":"c 2"})"
                         "\n");
  EXPECT_EQ(api.requests().size(), 2u);
}

TEST(Outlierctl, ShowsEventsAsATable) {
  const Api api(
      Answers{{"GET /api/v1/events?network=abilene&from=2004-03-01T00%3A00%3A00Z&limit=20",
               std::string(R"({"items":[)") + kEvent + R"(],"next":null})"}});
  const Outcome outcome = api.run("events --network abilene --from 2004-03-01");
  EXPECT_EQ(outcome.out,
            "EVENT  NETWORK  STATE  SHAPE  OPENED                LASTS       SCORE  SUMMARY\n"
            "e1     abilene  open   ddos   2004-03-01T00:05:00Z  20 min 0 s     12  7 origins send "
            "4.1x the expected traffic to CHIN\n")
      << outcome.error;
}

TEST(Outlierctl, ShowsWhatIsPendingWhenAsked) {
  std::string pending(kEvent);
  const auto put = [&](const std::string& from, const std::string& to) {
    pending.replace(pending.find(from), from.size(), to);
  };
  put(R"("state":"open")", R"("state":"pending","since":"2004-03-01T00:05:00Z")");
  const Api api(Answers{{"GET /api/v1/events?state=pending&limit=20",
                         R"({"items":[)" + pending + R"(],"next":null})"},
                        {"GET /api/v1/events/e1", pending}});
  EXPECT_NE(api.run("events --state pending").out.find("e1     abilene  pending  ddos"),
            std::string::npos);
  const std::string page = api.run("event e1").out;
  EXPECT_NE(page.find("state         pending\n"), std::string::npos) << page;
  EXPECT_NE(page.find("since         2004-03-01T00:05:00Z\nopened        not yet\n"),
            std::string::npos)
      << page;
}

TEST(Outlierctl, ShowsOneEvent) {
  const Api api(Answers{{"GET /api/v1/events/e1", kEvent}});
  const Outcome outcome = api.run("event e1");
  EXPECT_EQ(outcome.out,
            "7 origins send 4.1x the expected traffic to CHIN\n\n"
            "event         e1\n"
            "network       abilene\n"
            "state         open\n"
            "shape         ddos, up\n"
            "opened        2004-03-01T00:05:00Z\n"
            "updated       2004-03-01T00:25:00Z\n"
            "closed        -\n"
            "peak score    12\n"
            "excess        5.1k\n"
            "origins       ATLA, DNVR\n"
            "destinations  CHIN\n"
            "acknowledged  no\n\n"
            "ORIGIN  DESTINATION  OBSERVED  EXPECTED  SCORE\n"
            "ATLA    CHIN              912       201    9.1\n")
      << outcome.error;
}

TEST(Outlierctl, DrawsAMatrix) {
  const Api api(Answers{{"GET /api/v1/networks/abilene/matrix?what=observed",
                         R"({"network":"abilene","time":"2004-03-01T00:05:00Z","nodes":["A","B"],
                      "observed":[[1,1000],[null,0]]})"}});
  const Outcome outcome = api.run("matrix abilene");
  EXPECT_EQ(outcome.out,
            "abilene observed at 2004-03-01T00:05:00Z\n\n"
            "  A B\n"
            "A ::@@\n"
            "B  ?\n"
            "from 0.1 to 1k (logarithmic), ? not observed\n")
      << outcome.error;
}

TEST(Outlierctl, DrawsASeries) {
  const Api api(
      Answers{{"GET /api/v1/networks/abilene/series?origin=A&destination=B%2F1",
               R"({"network":"abilene","origin":"A","destination":"B/1","metric":"bytes","points":[
      {"time":"2004-03-01T00:00:00Z","observed":1,"expected":1,"low":0,"high":2,"score":0},
      {"time":"2004-03-01T00:05:00Z","observed":9,"expected":1,"low":0,"high":2,"score":7}]})"}});
  const Outcome outcome = api.run("series abilene A B/1");
  EXPECT_TRUE(outcome.out.starts_with("abilene A>B/1 bytes: 2 bins, 1 outside the band\n"))
      << outcome.out << outcome.error;
  EXPECT_NE(outcome.out.find("      9│ !\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(api.run("series abilene A B/1 --sparkline").out, "▁█\n");
}

TEST(Outlierctl, Acknowledges) {
  const Api api(Answers{{"POST /api/v1/events/e1/ack", kEvent}});
  const Outcome outcome = api.run("ack e1 --by ana --note 'it is a \"test\"'");
  EXPECT_EQ(outcome.out, "acknowledged e1\n") << outcome.error;
  EXPECT_EQ(Json::parse(api.body(0)), (Json{{"by", "ana"}, {"comment", "it is a \"test\""}}));
}

TEST(Outlierctl, SilencesAndEndsSilences) {
  const Api api(Answers{
      {"POST /api/v1/silences", R"({"id":"s1","ends":"2004-03-01T02:00:00Z"})"},
      {"GET /api/v1/silences?limit=100",
       R"({"items":[{"id":"s1","network":"abilene","origin":null,"node":"CHIN","state":"active",
                      "starts":"2004-03-01T00:00:00Z","ends":"2004-03-01T02:00:00Z","created_by":"ana",
                      "comment":"works"}],"next":null})"},
      {"DELETE /api/v1/silences/s1", "{}"}});
  EXPECT_EQ(api.run("silence add --network abilene --node CHIN --for 2h --note works").out,
            "silence s1 until 2004-03-01T02:00:00Z\n");
  EXPECT_EQ(Json::parse(api.body(0)), (Json{{"network", "abilene"},
                                            {"node", "CHIN"},
                                            {"comment", "works"},
                                            {"duration_seconds", 7200}}));
  EXPECT_EQ(
      api.run("silence list").out,
      "SILENCE  STATE   MATCHES                    STARTS                ENDS                  "
      "BY   NOTE\n"
      "s1       active  network=abilene node=CHIN  2004-03-01T00:00:00Z  2004-03-01T02:00:00Z  "
      "ana  works\n");
  EXPECT_EQ(api.run("silence expire s1").out, "expired s1\n");
  EXPECT_EQ(api.run("silence add --for 2h").code, 2);
}

TEST(Outlierctl, FollowsTheStreamAndGoesOnWhereItWas) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto chunk = [](const std::string& text) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    return size + text + "\r\n";
  };
  std::string event = kEvent;
  std::erase(event, '\n');
  FakeDaemon daemon(FakeDaemon::Speaks::kHttp, [&](int connection, int, const std::string&) {
    const std::string name = connection == 0 ? "event-opened" : "event-closed";
    const std::string text =
        ": hello\n\nid: " + std::to_string(40 + connection) +
        "\nevent: slice\ndata: {\"time\":\"x\"}\n\nid: " + std::to_string(42 + connection) +
        "\nevent: " + name + "\ndata: " + event + "\n\n";
    // In two pieces; the first connection then breaks in the middle of the next event.
    return Reaction{head + chunk(text.substr(0, 30)) + chunk(text.substr(30)) + chunk("id: 99\nda"),
                    true};
  });
  const Outcome outcome = outlierctl("--url " + daemon.address("http") + " watch --count 2");
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.out,
            "2004-03-01T00:25:00Z  opened   ddos     abilene: 7 origins send 4.1x the expected "
            "traffic to CHIN  (e1)\n"
            "2004-03-01T00:25:00Z  closed   ddos     abilene: 7 origins send 4.1x the expected "
            "traffic to CHIN  (e1)\n");
  const auto requests = daemon.received();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].find("Last-Event-ID"), std::string::npos);
  EXPECT_NE(requests[1].find("\r\nLast-Event-ID: 42\r\n"), std::string::npos) << requests[1];
}

TEST(Outlierctl, SendsTheToken) {
  const Scratch scratch;
  const Api api(Answers{{"GET /api/v1/status", kStatus}});
  EXPECT_EQ(api.run("--token-file " + scratch.write("token", "s3cret\n") + " status").code, 0);
  EXPECT_NE(api.requests()[0].find("\r\nAuthorization: Bearer s3cret\r\n"), std::string::npos);
  EXPECT_EQ(api.run("--token-file " + scratch.write("none", "\n") + " status").code, 1);
}

TEST(Outlierctl, PushesWhereTheDaemonStands) {
  const Scratch scratch;
  const std::string file =
      scratch.write("t.csv",
                    "time,A>B\n2004-03-01T00:00:00Z,1\n2004-03-01T00:05:00Z,2\n"
                    "2004-03-01T00:10:00Z,3\n");
  const Api api(Answers{{"GET /api/v1/status", kStatus},
                        {"POST /api/v1/networks/abilene/slices", R"({"ok":true})"}});
  const Outcome outcome = api.run("push " + file + " --network abilene");
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_TRUE(outcome.out.starts_with(
      "2 bins skipped: the daemon has everything up to 2004-03-01T00:05:00Z\n"
      "1 bins sent: 1 accepted, 0 late, 0 refused; "))
      << outcome.out;
  EXPECT_EQ(Json::parse(api.body(1))["values"], Json::parse("[[null,3],[null,null]]"));
}

TEST(ExitCodes, AreTwoForBadUsage) {
  EXPECT_EQ(outlierctl("").code, 2);
  EXPECT_EQ(outlierctl("nonsense").code, 2);
  EXPECT_EQ(outlierctl("events --state half").code, 2);
  EXPECT_EQ(outlierctl("simulate --bin 5x").code, 2);
  EXPECT_EQ(outlierctl("simulate --nodes 0").code, 2);
  EXPECT_EQ(outlierctl("simulate --names a,b,a").code, 2);
  EXPECT_EQ(outlierctl("simulate --names a,,b").code, 2);
  EXPECT_EQ(outlierctl("simulate --names 'a>b,c'").code, 2);
  EXPECT_EQ(outlierctl("simulate --incident boom@3").code, 2);
  EXPECT_EQ(outlierctl("simulate --incident ddos@999999").code, 2);
  EXPECT_EQ(outlierctl("--url ftp://x status").code, 2);
  EXPECT_EQ(outlierctl("push x.csv --to nowhere").code, 2);
  EXPECT_NE(outlierctl("silence add --for soon").error.find("Try: outlierctl silence add --help"),
            std::string::npos);
}

TEST(ExitCodes, AreThreeWhenTheDaemonCannotBeReached) {
  const Outcome outcome = outlierctl("--url http://127.0.0.1:1 status");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(outcome.error.starts_with(
      "outlierctl: cannot reach outlierd at http://127.0.0.1:1: Connection refused\n"))
      << outcome.error;
  EXPECT_EQ(outlierctl("status", "OUTLIERD_URL=http://127.0.0.1:1").code, 3);
  EXPECT_EQ(outlierctl("--url http://127.0.0.1:1 watch").code, 3);
  const Scratch scratch;
  const std::string file = scratch.write("t.csv", "time,A>B\n2004-03-01T00:00:00Z,1\n");
  EXPECT_EQ(outlierctl("push " + file + " --network n --to unix:" + scratch.path("none.sock")).code,
            3);
}

TEST(ExitCodes, AreOneWhenTheDaemonOrAFileRefuses) {
  const Api api(Answers{});
  const Outcome outcome = api.run("event nope");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.error, "outlierctl: no GET /api/v1/events/nope (HTTP 404)\n");
  EXPECT_EQ(outlierctl("inject /nowhere.csv --output /tmp/x --labels /tmp/y").code, 1);
}

TEST(ExitCodes, AreZeroForHelpAndVersion) {
  EXPECT_EQ(outlierctl("--help").code, 0);
  EXPECT_EQ(outlierctl("--version").out.substr(0, 11), "outlierctl ");
  const Outcome help = outlierctl("silence add --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
}

TEST(Simulate, GivesTheSameBytesAndLabelsInTheRightRows) {
  const Scratch scratch;
  const std::string common = "simulate --nodes 6 --days 4 --seed 9 --start 2024-01-01 --output ";
  ASSERT_EQ(outlierctl(common + scratch.path("a.csv")).code, 0);
  EXPECT_TRUE(outlierctl(common + "-").out == scratch.read("a.csv"));
  ASSERT_EQ(outlierctl(common + scratch.path("c.csv") + " --labels " + scratch.path("c.json")).code,
            0);
  std::istringstream clean(scratch.read("a.csv")), with(scratch.read("c.csv"));
  std::set<long> changed, labelled;
  std::string line, other;
  EXPECT_NE(scratch.read("a.csv").find(",,"), std::string::npos);  // holes are empty, not zero
  for (long row = -1; std::getline(clean, line) && std::getline(with, other); ++row)
    if (line != other) changed.insert(row);
  const Json labels = Json::parse(scratch.read("c.json"))["labels"];
  std::set<std::string> kinds;
  for (const Json& label : labels) {
    kinds.insert(label["kind"].get<std::string>());
    for (long k = 0; k < label["bins"].get<long>(); ++k)
      labelled.insert(label["first_bin"].get<long>() + k);
  }
  EXPECT_GE(kinds.size(), 7u);
  EXPECT_TRUE(std::includes(labelled.begin(), labelled.end(), changed.begin(), changed.end()));
  EXPECT_GT(changed.size(), labelled.size() / 2);
}

TEST(Simulate, NamesTheNodesAsAsked) {
  const std::string out = outlierctl("simulate --days 0.01 --names oslo,rome").out;
  EXPECT_EQ(out.substr(0, out.find('\n')), "time,oslo>oslo,oslo>rome,rome>oslo,rome>rome");
}

TEST(Completion, OffersVerbsOptionsAndChoices) {
  const Scratch scratch;
  const std::string script = scratch.write("completion", outlierctl("completion bash").out);
  const auto offered = [&](const std::string& words, int current) {
    const std::string command = "bash -c 'source " + script + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(current) +
                                "; _outlierctl; echo \"${COMPREPLY[*]}\"' >" +
                                scratch.path("words");
    EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
    return scratch.read("words");
  };
  EXPECT_EQ(offered("outlierctl si", 1), "simulate silence\n");
  EXPECT_EQ(offered("outlierctl silence \"\"", 2).substr(0, 16), "add list expire ");
  EXPECT_EQ(offered("outlierctl events --sh", 2), "--shape\n");
  EXPECT_EQ(offered("outlierctl events --state \"\"", 3), "pending open closed\n");
  EXPECT_EQ(offered("outlierctl silence add --shape d", 4), "drop ddos\n");
  EXPECT_EQ(offered("outlierctl completion z", 2), "zsh\n");
  const std::string zsh = outlierctl("completion zsh").out;
  EXPECT_TRUE(zsh.starts_with("#compdef outlierctl\n"));
  EXPECT_NE(zsh.find("_outlierctl_silence_add() {"), std::string::npos);
}

TEST(Manual, NamesEveryVerbAndIsCleanRoff) {
  const Scratch scratch;
  const std::string page = outlierctl("man").out;
  for (const char* verb : {"simulate", "push", "status", "silence add", "watch", "backup"})
    EXPECT_NE(page.find(std::string("\n.SS ") + verb + "\n"), std::string::npos) << verb;
  if (std::system("command -v groff >/dev/null") != 0) GTEST_SKIP() << "needs groff";  // NOLINT
  const std::string file = scratch.write("page", page);
  ASSERT_EQ(std::system(("groff -man -ww -z " + file + " 2>" + scratch.path("w")).c_str()),
            0);  // NOLINT
  EXPECT_EQ(scratch.read("w"), "");
}

}  // namespace
}  // namespace outlierd::ctl
