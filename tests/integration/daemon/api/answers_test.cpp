// The API over real sockets, with a history in memory behind it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/api/api.h"
#include "daemon/api/http_server.h"
#include "daemon/api/json_names.h"
#include "daemon/api/openapi.h"
#include "tests/support/api_sample.h"
#include "tests/support/http_client.h"
#include "tests/support/memory_history.h"
#include "tests/support/net_thread.h"

namespace outlierd::api {
namespace {

using nlohmann::json;
using test::HttpClient;

constexpr EpochSeconds kNow = 1078099500;  // 2004-03-01T00:05:00Z
constexpr char kJson[] = "Content-Type: application/json\r\n";

class AnswersTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/outlierd_answers_XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override {
    client_.reset();
    net_.run([this] {
      server_.reset();
      api_.reset();
    });
    std::filesystem::remove_all(folder_);
  }

  void start(bool with_history = true) {
    net_.run([&] {
      tokens_ = *Tokens::load(rules_);
      live_ = std::make_unique<LiveState>(
          LiveOptions{.slice_bytes_each = 2500, .most_events = 5, .most_anomalies = 5},
          [] { return kNow; });
      ApiPorts ports;
      ports.version = "1.2.3";
      ports.history = with_history ? &history_ : nullptr;
      ports.slices = ports.flows = [this](const IngestRequest& request, const auto& done) {
        taken_ = request;
        done(ingest_answer_);
      };
      ports.metrics = [] { return std::string("up 1\n"); };
      ports.unready = [this] { return unready_; };
      ports.reload = [this](const auto& done) { done(reload_problems_); };
      ports.files["/app.js"] = {"text/javascript", std::make_shared<const std::string>("let x;")};
      ports.files["/assets/a-1.js"] = {"text/javascript",
                                       std::make_shared<const std::string>("let plain;"),
                                       std::make_shared<const std::string>("packed"), true};
      ports.most_ingest_bytes = 1000000;
      api_ = std::make_unique<Api>(net_.io, *live_, tokens_, ports);
      live_->add_network(network_, {});
      api_->recover([this](const auto& problems) { recovered_ = problems; });
    });
    net_.run([&] {
      HttpOptions options;
      options.port = 0;
      server_ = std::make_unique<HttpServer>(net_.io, options, api_->dispatch(), nullptr);
      ASSERT_TRUE(server_->start());
      port_ = server_->port();
    });
    client_ = std::make_unique<HttpClient>(port_);
  }

  void report(EpochSeconds time, std::vector<Event> events = {},
              std::vector<Anomaly> anomalies = {}) {
    net_.run([&] {
      SliceReport slice = test::sample_report(network_, time);
      for (Event& event : events)
        slice.events.push_back({event.open ? EventChange::kOpened : EventChange::kClosed, event});
      slice.anomalies = std::move(anomalies);
      api_->on_report(network_.name, std::move(slice));
    });
  }

  // Every answer must be one that the document has for that route.
  test::HttpAnswer ask(const std::string& method, const std::string& target,
                       const std::string& headers = "", const std::string& body = "") {
    const auto answer = client_->ask(method, target, headers, body);
    if (!answer) {
      ADD_FAILURE() << method << " " << target << " was not answered";
      return {};
    }
    const Match found = match(method, target.substr(0, target.find('?')));
    if (found.route) {
      std::set<int> documented;
      for (const Answer& each : answers_of(*found.route)) documented.insert(each.status);
      EXPECT_TRUE(documented.contains(answer->status))
          << method << " " << target << " gave " << answer->status;
    }
    if (answer->status >= 400 && answer->status != 503) {
      EXPECT_EQ(answer->header("content-type"), "application/problem+json") << target;
    }
    return *answer;
  }
  json get(const std::string& target, int status = 200) {
    const auto answer = ask("GET", target);
    EXPECT_EQ(answer.status, status) << target << ": " << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  // All pages, with the ids in the order they came.
  std::vector<std::string> ids(const std::string& target) {
    std::vector<std::string> all;
    std::string cursor;
    for (int page = 0; page < 100; ++page) {
      const json answer = get(target + cursor);
      for (const json& item : answer["items"]) all.push_back(item["id"]);
      if (answer["next"].is_null()) return all;
      cursor = "&cursor=" + answer["next"].get<std::string>();
    }
    ADD_FAILURE() << "the pages do not end";
    return all;
  }
  EventRecord stored_event(const std::string& id, EpochSeconds opened, bool open = false) {
    EventRecord event = record_of(network_, test::sample_event(id, opened));
    event.open = open;
    if (!open) event.closed = opened + 600;
    return event;
  }

  const Network network_ = test::sample_network();
  std::filesystem::path folder_;
  TokenRules rules_;
  Tokens tokens_;
  IngestAnswer ingest_answer_{202, "{\"ok\":true,\"network\":\"abilene\",\"cells\":4}"};
  std::optional<IngestRequest> taken_;
  std::vector<std::string> unready_, reload_problems_, recovered_;
  test::NetThread net_;
  test::MemoryHistory history_{
      [this](std::function<void()> act) { boost::asio::post(net_.io, std::move(act)); }};
  std::unique_ptr<LiveState> live_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
  int port_ = 0;
};

TEST_F(AnswersTest, StatusNetworkAndModelHaveThePromisedShape) {
  start();
  json empty = get("/api/v1/status")["networks"][0];
  EXPECT_TRUE(empty["last_slice"].is_null());
  report(kNow - 900);
  json status = get("/api/v1/status");
  EXPECT_EQ(status["version"], "1.2.3");
  EXPECT_EQ(status["networks"],
            json::parse(R"([{"name":"abilene","last_slice":"2004-02-29T23:50:00Z",
      "bins_behind":2,"warmup":0.5,"rank":3,"open_events":0,"pending_events":0}])"));
  const json network = get("/api/v1/networks/abilene");
  EXPECT_EQ(network["nodes"].size(), 4u);
  EXPECT_EQ(network["model"]["max_rank"], 4);
  EXPECT_EQ(network["detection"]["false_alarms_per_day"], 1);
  EXPECT_EQ(network["threshold"], 4.5);
  EXPECT_EQ(get("/api/v1/networks")["items"][0], network);
  const json model = get("/api/v1/networks/abilene/model");
  EXPECT_EQ(model["rank"], 3);
  EXPECT_TRUE(model["evidence_bound"].is_null());
  EXPECT_EQ(model["component_strengths"], json::parse("[3,2,1]"));
  for (const char* path : {"", "/matrix", "/model", "/series?origin=a&destination=b"})
    get(std::string("/api/v1/networks/nowhere") + path, 404);
}

TEST_F(AnswersTest, MatrixShowsOneSliceFromHereOrFromTheHistory) {
  start();
  get("/api/v1/networks/abilene/matrix", 404);
  for (int k = 20; k >= 1; --k) report(kNow - 300 * k);
  const json newest = get("/api/v1/networks/abilene/matrix");
  EXPECT_EQ(newest["time"], "2004-03-01T00:00:00Z");
  EXPECT_EQ(newest["observed"][2][3], 203);
  EXPECT_TRUE(newest["observed"][0][0].is_null());
  EXPECT_EQ(newest["score"][1][1], -1.5);
  EXPECT_FALSE(newest.contains("low"));
  const json chosen = get("/api/v1/networks/abilene/matrix?what=low&time=2004-03-01T00:04:59Z");
  EXPECT_EQ(chosen["low"][1][0], 99);
  EXPECT_FALSE(chosen.contains("observed"));
  MatrixRecord old;
  old.time = kNow - 6000;
  old.nodes = {"A", "B"};
  old.observed = {1, 2, 3, 4};
  history_.matrices.emplace_back("abilene", old);
  const json stored = get("/api/v1/networks/abilene/matrix?time=2004-02-29T22:25:00Z");
  EXPECT_EQ(stored["observed"], json::parse("[[1,2],[3,4]]"));
  EXPECT_TRUE(stored["score"][0][0].is_null());
  get("/api/v1/networks/abilene/matrix?time=2001-01-01T00:00:00Z", 404);
  get("/api/v1/networks/abilene/matrix?metric=packets", 400);
}

TEST_F(AnswersTest, AMatrixComesInPartsAndInGroupsOfNeighbours) {
  start();
  report(kNow - 300);
  const json part = get(
      "/api/v1/networks/abilene/matrix?what=observed&first_origin=1&first_destination=2&size=2");
  EXPECT_EQ(part["observed"], json::parse("[[102,103],[202,203]]"));
  EXPECT_EQ(part["first_origin"], 1);
  EXPECT_EQ(part["nodes"].size(), 4u) << "all of them, to count from";
  const json groups = get("/api/v1/networks/abilene/matrix?what=observed,score&group=3");
  // Rows 0 to 2 and 3, columns the same; the cell that was not observed adds nothing.
  EXPECT_EQ(groups["observed"], json::parse("[[909,309],[903,303]]"));
  EXPECT_EQ(groups["score"][0][0], -1.5);
  EXPECT_TRUE(get("/api/v1/networks/abilene/matrix?first_origin=9")["observed"].empty());
  get("/api/v1/networks/abilene/matrix?group=0", 400);
}

TEST_F(AnswersTest, SlicesAreALineEachFromHistoryAndLiveState) {
  start();
  for (int k = 20; k >= 11; --k) {
    SlicePoint old;
    old.time = kNow - 300 * k;
    old.total.observed = 5.0;
    old.rank = 7;
    history_.slice_points.push_back(old);
  }
  for (int k = 15; k >= 1; --k) report(kNow - 300 * k);
  const json points = get("/api/v1/networks/abilene/slices")["points"];
  ASSERT_EQ(points.size(), 20u) << "none twice, none left out";
  EXPECT_EQ(points[0]["observed"], 5);
  EXPECT_TRUE(points[0]["expected"].is_null());
  EXPECT_EQ(points[4]["rank"], 7);
  // The sum of 100 i + j over all cells but the first, and one more each that was expected.
  EXPECT_EQ(points[5]["observed"], 2424);
  EXPECT_EQ(points[5]["expected"], 2439);
  EXPECT_TRUE(points[5]["low"].is_null()) << "too few slices lie before it";
  EXPECT_EQ(points[19]["rank"], 3);
  EXPECT_TRUE(points[19]["seconds"].is_null());
  EXPECT_EQ(get("/api/v1/networks/abilene/slices?from=2004-02-29T23:55:00Z")["points"].size(), 2u);
  for (int k = 1; k <= 15; ++k) report(kNow + 300 * k);
  const json later = get("/api/v1/networks/abilene/slices?from=2004-03-01T01:15:00Z")["points"];
  ASSERT_EQ(later.size(), 2u);
  // Every slice before it was off by the same, and the threshold is 4.5.
  EXPECT_NEAR(later[0]["high"].get<double>(), 2439 * std::pow(2439 / 2424.0, 4.5 * 1.4826), 1e-6);
  get("/api/v1/networks/abilene/slices?metric=packets", 400);
  get("/api/v1/networks/nowhere/slices", 404);
  get("/api/v1/networks/abilene/slices?from=1990-01-01T00:00:00Z", 400);
}

TEST_F(AnswersTest, WhatAnEventWasIsSaidKeptAndTakenBack) {
  history_.all_events.push_back(stored_event("a", 1000, true));
  start();
  EXPECT_TRUE(get("/api/v1/events/a")["feedback"].is_null());
  const std::string path = "/api/v1/events/a/feedback";
  const auto answer =
      ask("POST", path, kJson, R"({"mark":"expected","by":"ann","comment":"move"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  const json said = json::parse(
      R"({"mark":"expected","by":"ann","time":"2004-03-01T00:05:00Z","comment":"move"})");
  EXPECT_EQ(json::parse(answer.body)["feedback"], said);
  report(kNow - 300, {test::sample_event("a", 1000)});
  EXPECT_EQ(get("/api/v1/events/a")["feedback"], said) << "news of the event leave it";
  EXPECT_EQ(ask("POST", path, kJson, R"({"mark":"nonsense"})").status, 422);
  EXPECT_EQ(ask("POST", path, kJson, "{}").status, 422);
  EXPECT_EQ(ask("POST", path, kJson, R"({"mark":""})").status, 200);
  EXPECT_TRUE(get("/api/v1/events/a")["feedback"].is_null());
  EXPECT_EQ(history_.all_audit.size(), 2u);
  EXPECT_EQ(ask("POST", "/api/v1/events/zz/feedback", kJson, R"({"mark":""})").status, 404);
}

TEST_F(AnswersTest, SeriesPutsTheHistoryBeforeTheLivePart) {
  start();
  for (int k = 20; k >= 1; --k) {
    history_.points.push_back({kNow - 300 * k, 7, 8, 6, 9, 0});
    report(kNow - 300 * k);
  }
  const json series = get("/api/v1/networks/abilene/series?origin=N2&destination=N3");
  ASSERT_EQ(series["points"].size(), 20u) << "none twice, none left out";
  EXPECT_EQ(series["points"][0]["observed"], 7);
  EXPECT_EQ(series["points"][19]["observed"], 203);
  EXPECT_EQ(series["points"][19]["high"], 205);
  EXPECT_EQ(series["metric"], "bytes");
  for (std::size_t k = 1; k < 20; ++k)
    EXPECT_LT(series["points"][k - 1]["time"], series["points"][k]["time"]);
  const json part =
      get("/api/v1/networks/abilene/series?origin=N2&destination=N3"
          "&from=2004-02-29T23:55:00Z&to=2004-03-01T00:00:00Z");
  EXPECT_EQ(part["points"].size(), 1u);
  history_.points.clear();
  get("/api/v1/networks/abilene/series?origin=N2&destination=ZZ", 400);
  get("/api/v1/networks/abilene/series?origin=N2&destination=N1&from=1990-01-01T00:00:00Z", 400);
}

TEST_F(AnswersTest, EventsOfBothSourcesComeOnceEachNewestFirst) {
  for (int k = 1; k <= 12; ++k)
    history_.all_events.push_back(stored_event("s" + std::to_string(100 + k), 1000 * k));
  start();
  for (int k = 10; k <= 16; ++k) {
    Event event = test::sample_event("s" + std::to_string(100 + k), 1000 * k);
    event.open = k > 14;
    report(kNow - 300 * (20 - k), {event});
  }
  std::vector<std::string> expected;
  for (int k = 16; k >= 1; --k) expected.push_back("s" + std::to_string(100 + k));
  for (const char* limit : {"1", "3", "5", "7", "100"})
    EXPECT_EQ(ids(std::string("/api/v1/events?limit=") + limit), expected) << limit;
  EXPECT_EQ(ids("/api/v1/events?state=open"), (std::vector<std::string>{"s116", "s115"}));
  EXPECT_EQ(ids("/api/v1/events?from=1970-01-01T00:33:20Z&to=1970-01-01T00:50:00Z"),
            (std::vector<std::string>{"s102"}));
  EXPECT_EQ(get("/api/v1/events/s116")["state"], "open");
  EXPECT_EQ(get("/api/v1/events/s102")["state"], "closed");
  get("/api/v1/events/nothing", 404);
}

TEST_F(AnswersTest, TheLiveStateIsBelievedWhereTheHistoryLagsBehind) {
  history_.all_events.push_back(stored_event("a", 1000, true));
  start();
  Event closed = test::sample_event("a", 1000);
  closed.open = false;
  closed.closed = 2000;
  report(kNow - 300, {closed});
  EXPECT_TRUE(ids("/api/v1/events?state=open&limit=1").empty());
  EXPECT_EQ(ids("/api/v1/events?state=closed&limit=1"), (std::vector<std::string>{"a"}));
}

TEST_F(AnswersTest, PendingEventsAreShownWhenAskedForAndAreNoAlerts) {
  start();
  const auto pending = [](const std::string& id, EpochSeconds since, EpochSeconds updated) {
    Event event = test::sample_event(id, since);
    event.since = since;
    event.updated = updated;
    event.open = false;
    event.pending = true;
    return event;
  };
  const auto next = [&](EpochSeconds time, std::vector<Event> events) {
    net_.run([&] {
      SliceReport slice = test::sample_report(network_, time);
      slice.pending = std::move(events);
      api_->on_report(network_.name, std::move(slice));
    });
  };
  HttpClient watcher(port_);
  watcher.send("GET /api/v1/stream HTTP/1.1\r\nHost: x\r\n\r\n");
  watcher.read_until("retry: 3000\n\n");
  next(300, {pending("p1", 300, 300)});
  const std::string first = watcher.read_until("\"silenced\":false}\n\n");
  EXPECT_NE(first.find("event: event-pending\ndata: {\"id\":\"p1\""), std::string::npos) << first;
  EXPECT_EQ(first.find("event-opened"), std::string::npos);
  next(600, {pending("p1", 300, 600), pending("p2", 600, 600)});
  EXPECT_EQ(ids("/api/v1/events?limit=1"), std::vector<std::string>{});
  EXPECT_EQ(ids("/api/v1/events?limit=1&state=pending"), (std::vector<std::string>{"p2", "p1"}));
  EXPECT_EQ(ids("/api/v1/events?state=pending&network=other"), std::vector<std::string>{});
  EXPECT_EQ(ids("/api/v1/events?state=open"), std::vector<std::string>{});
  const json one = get("/api/v1/events/p1");
  EXPECT_EQ(one["state"], "pending");
  EXPECT_EQ(one["since"], "1970-01-01T00:05:00Z");
  EXPECT_EQ(one["updated"], "1970-01-01T00:10:00Z");
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["pending_events"], 2);
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["open_events"], 0);
  EXPECT_EQ(ask("POST", "/api/v1/events/p1/ack", kJson, "{}").status, 409);
  EXPECT_EQ(ask("POST", "/api/v1/events/p1/feedback", kJson, "{\"mark\":\"expected\"}").status,
            409);
  next(900, {});
  EXPECT_EQ(ids("/api/v1/events?state=pending"), std::vector<std::string>{});
  EXPECT_EQ(get("/api/v1/events/p1", 404)["status"], 404);
  std::string rest;
  while (rest.find("event: event-dropped\ndata: {\"id\":\"p2\"") == std::string::npos)
    rest += watcher.read_until("\"silenced\":false}\n\n");
  EXPECT_NE(rest.find("event: event-dropped\ndata: {\"id\":\"p1\""), std::string::npos) << rest;
}

TEST_F(AnswersTest, TheNewestEventsNeedNoHistory) {
  start();
  for (int k = 1; k <= 5; ++k)
    report(300 * k, {test::sample_event("e" + std::to_string(k), 300 * k)});
  const int before = history_.asked;
  get("/api/v1/events?limit=3");
  EXPECT_EQ(history_.asked, before);
  const auto answer = ask("GET", "/api/v1/events?limit=3");
  EXPECT_EQ(ask("GET", "/api/v1/events?limit=3", "If-None-Match: " + answer.header("etag") + "\r\n")
                .status,
            304);
}

TEST_F(AnswersTest, AnomaliesOfBothSourcesComeOnceEach) {
  std::vector<std::string> expected;
  for (int k = 1; k <= 12; ++k) {
    const AnomalyRecord record = record_of(network_, test::sample_anomaly(300 * k, k % 2, 1, k));
    expected.insert(expected.begin(), record.id);
    if (k < 9) history_.all_anomalies.push_back(record);
  }
  start();
  for (int k = 6; k <= 12; ++k) report(300 * k, {}, {test::sample_anomaly(300 * k, k % 2, 1, k)});
  for (const char* limit : {"1", "4", "100"})
    EXPECT_EQ(ids(std::string("/api/v1/anomalies?limit=") + limit), expected) << limit;
  EXPECT_EQ(ids("/api/v1/anomalies?min_score=11").size(), 2u);
  EXPECT_EQ(ids("/api/v1/anomalies?origin=N1&limit=2").size(), 6u);
  EXPECT_EQ(ids("/api/v1/anomalies?network=other").size(), 0u);
}

TEST_F(AnswersTest, AnEventIsAcknowledgedWithAnAuditTrail) {
  history_.all_events.push_back(stored_event("a", 1000, true));
  start();
  const auto answer = ask("POST", "/api/v1/events/a/ack", kJson, R"({"comment":"on it"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["acknowledged"]["by"], "loopback");
  EXPECT_EQ(get("/api/v1/events/a")["acknowledged"]["comment"], "on it");
  EXPECT_EQ(ask("POST", "/api/v1/events/a/ack").status, 200) << "the body may be left out";
  const json audit = get("/api/v1/audit");
  EXPECT_EQ(audit["items"][1], json::parse(R"({"time":"2004-03-01T00:05:00Z","actor":"loopback",
      "action":"acknowledge","subject":"a","detail":"on it"})"));
  EXPECT_EQ(ask("POST", "/api/v1/events/zz/ack").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/events/a/ack", kJson, "{").status, 422);
  EXPECT_EQ(ask("POST", "/api/v1/events/a/ack", "Content-Type: text/plain\r\n", "{}").status, 415);
  report(kNow - 300, {test::sample_event("unsaved", 2000)});
  EXPECT_EQ(ask("POST", "/api/v1/events/unsaved/ack").status, 503);
}

TEST_F(AnswersTest, ASilenceIsMadeShownAppliedAndEnded) {
  history_.all_events.push_back(stored_event("a", 1000, true));
  start();
  EXPECT_EQ(get("/api/v1/events/a")["silenced"], false);
  const auto made =
      ask("POST", "/api/v1/silences", kJson, R"({"node":"N2","duration_seconds":600})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id = json::parse(made.body)["id"];
  EXPECT_EQ(made.header("location"), "/api/v1/silences/" + id);
  EXPECT_EQ(get("/api/v1/events/a")["silenced"], true);
  EXPECT_EQ(get("/api/v1/events?limit=1")["items"][0]["silenced"], true);
  EXPECT_EQ(ids("/api/v1/silences?state=active"), (std::vector<std::string>{id}));
  EXPECT_EQ(ask("DELETE", "/api/v1/silences/" + id).status, 204);
  EXPECT_EQ(ask("DELETE", "/api/v1/silences/" + id).status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/silences?id=" + id).status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/silences").status, 400);
  EXPECT_EQ(get("/api/v1/events/a")["silenced"], false);
  EXPECT_EQ(get("/api/v1/silences?state=expired")["items"].size(), 1u);
  EXPECT_EQ(ask("POST", "/api/v1/silences", kJson, "{}").status, 422);
  EXPECT_EQ(history_.all_audit.size(), 2u);
}

TEST_F(AnswersTest, SilencesComeInPages) {
  start();
  for (int k = 0; k < 7; ++k)
    ask("POST", "/api/v1/silences", kJson, R"({"node":"N2","duration_seconds":600})");
  const auto all = ids("/api/v1/silences?limit=3");
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 7u);
  EXPECT_EQ(all.size(), 7u);
}

TEST_F(AnswersTest, TrafficIsHandedOnAndAnsweredAsTheIngestSays) {
  start();
  const std::string target = "/api/v1/networks/abilene/slices";
  const auto taken = ask("POST", target, "Content-Type: application/cbor; x=y\r\n", "body");
  EXPECT_EQ(taken.status, 202);
  EXPECT_EQ(taken.body, ingest_answer_.text);
  EXPECT_EQ(taken_->network, "abilene");
  EXPECT_EQ(taken_->content_type, "application/cbor");
  EXPECT_EQ(taken_->body, "body");
  for (int status : {409, 413, 415, 422, 429, 503}) {
    ingest_answer_ = {status, "values[1][0]: not a number"};
    const auto answer = ask("POST", target, kJson, "{}");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(json::parse(answer.body)["detail"], "values[1][0]: not a number");
  }
  ingest_answer_ = {202, "{\"ok\":true}"};
  EXPECT_EQ(ask("POST", "/api/v1/flows", "Content-Type: application/x-ndjson\r\n", "{}\n").status,
            202);
  EXPECT_EQ(ask("POST", "/api/v1/flows?network=zz", kJson, "{}").status, 422);
  EXPECT_EQ(ask("POST", "/api/v1/networks/zz/slices", kJson, "{}").status, 404);
  EXPECT_EQ(ask("POST", target, "", "{}").status, 415);
  EXPECT_EQ(ask("POST", target, kJson, std::string(900000, ' ')).status, 202);
  EXPECT_EQ(ask("POST", target, kJson, std::string(1000001, ' ')).status, 413);
}

TEST_F(AnswersTest, HealthSaysWhyNot) {
  start();
  for (const char* path : {"/-/healthy", "/-/ready", "/healthz", "/livez", "/readyz"})
    EXPECT_EQ(get(path)["ok"], true);
  unready_ = {"the store cannot be written"};
  EXPECT_EQ(get("/-/ready", 503)["reasons"][0], "the store cannot be written");
  get("/readyz", 503);
  get("/healthz");
  EXPECT_EQ(ask("POST", "/-/reload").status, 200);
  reload_problems_ = {"tokens:3: bad"};
  EXPECT_EQ(ask("POST", "/-/reload").status, 422);
}

TEST_F(AnswersTest, PathsMethodsAndFilesAreToldApart) {
  start();
  EXPECT_EQ(ask("GET", "/nothing").status, 404);
  const auto wrong = ask("PUT", "/api/v1/events");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("allow"), "GET, HEAD, OPTIONS");
  const auto options = ask("OPTIONS", "/api/v1/silences");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("allow"), "GET, HEAD, POST, DELETE, OPTIONS");
  EXPECT_EQ(ask("HEAD", "/api/v1/events").status, 200);
  EXPECT_EQ(ask("GET", "/app.js").body, "let x;");
  const auto packed = ask("GET", "/assets/a-1.js", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(packed.body, "packed");
  EXPECT_EQ(packed.header("content-encoding"), "gzip");
  EXPECT_EQ(packed.header("vary"), "Accept-Encoding");
  EXPECT_NE(packed.header("cache-control").find("immutable"), std::string::npos);
  const auto plain = ask("GET", "/assets/a-1.js");
  EXPECT_EQ(plain.body, "let plain;");
  EXPECT_EQ(plain.header("content-encoding"), "");
  for (const char* never : {"unsafe", "http", "*"})
    EXPECT_EQ(plain.header("content-security-policy").find(never), std::string::npos) << never;
  EXPECT_NE(ask("GET", "/").body.find("outlierd"), std::string::npos);
  EXPECT_EQ(ask("GET", "/metrics").body, "up 1\n");
  const auto document = ask("GET", "/openapi.json");
  EXPECT_EQ(document.body, openapi_document("1.2.3"));
  EXPECT_EQ(
      ask("GET", "/openapi.json", "If-None-Match: " + document.header("etag") + "\r\n").status,
      304);
  EXPECT_EQ(ask("POST", "/-/reload", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(ask("POST", "/-/reload", "Origin: http://test\r\n").status, 200);
}

TEST_F(AnswersTest, EachRoleMayDoItsOwnAndNoMore) {
  rules_.file = folder_ / "tokens";
  rules_.needed_on_loopback = true;
  std::ofstream(rules_.file) << "read token-of-a-reader\ningest token-of-a-pusher\n"
                                "operate token-of-an-operator\nadmin token-of-an-admin\n";
  chmod(rules_.file.c_str(), 0600);
  start();
  struct Case {
    const char *method, *target;
    std::set<std::string> may;
  };
  const Case cases[] = {
      {"GET", "/api/v1/status", {"a-reader", "an-operator", "an-admin"}},
      {"GET", "/metrics", {"a-reader", "an-operator", "an-admin"}},
      {"POST", "/api/v1/networks/abilene/slices", {"a-pusher", "an-admin"}},
      {"POST", "/api/v1/events/x/ack", {"an-operator", "an-admin"}},
      {"POST", "/api/v1/events/x/feedback", {"an-operator", "an-admin"}},
      {"DELETE", "/api/v1/silences/x", {"an-operator", "an-admin"}},
      {"POST", "/-/reload", {"an-admin"}},
      {"GET", "/api/v1/audit", {"an-admin"}},
  };
  for (const Case& each : cases) {
    const auto nobody = ask(each.method, each.target);
    EXPECT_EQ(nobody.status, 401) << each.target;
    EXPECT_NE(nobody.header("www-authenticate"), "");
    const auto stranger =
        ask(each.method, each.target, "Authorization: Bearer token-of-a-stranger\r\n");
    EXPECT_EQ(stranger.status, 401);
    EXPECT_EQ(stranger.body.find("stranger"), std::string::npos);
    for (const std::string who : {"a-reader", "a-pusher", "an-operator", "an-admin"}) {
      const auto answer =
          ask(each.method, each.target, "Authorization: bearer token-of-" + who + "\r\n");
      EXPECT_EQ(answer.status != 403, each.may.contains(who)) << who << " " << each.target;
      EXPECT_NE(answer.status, 401);
    }
  }
  for (const char* open : {"/-/healthy", "/readyz", "/openapi.json", "/"})
    EXPECT_EQ(ask("GET", open).status, 200) << open;
}

TEST_F(AnswersTest, AStoreThatDoesNotAnswerIsSaidSo) {
  history_.broken = true;
  start();
  EXPECT_EQ(net_.run([this] { return recovered_.size(); }), 4u);
  for (const char* target :
       {"/api/v1/events", "/api/v1/anomalies", "/api/v1/events/x", "/api/v1/audit",
        "/api/v1/networks/abilene/series?origin=N0&destination=N1",
        "/api/v1/networks/abilene/matrix?time=2001-01-01T00:00:00Z"})
    EXPECT_EQ(get(target, 503)["detail"], "the store does not answer") << target;
  EXPECT_EQ(ask("POST", "/api/v1/events/x/ack").status, 503);
  EXPECT_EQ(
      ask("POST", "/api/v1/silences", kJson, R"({"node":"N2","duration_seconds":600})").status,
      503);
  get("/api/v1/status");
}

TEST_F(AnswersTest, WithoutAHistoryTheLiveStateIsAll) {
  start(false);
  report(kNow - 300, {test::sample_event("a", 1000)});
  EXPECT_EQ(ids("/api/v1/events?limit=10"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(ask("POST", "/api/v1/events/a/ack").status, 200);
  EXPECT_EQ(
      ask("POST", "/api/v1/silences", kJson, R"({"node":"N2","duration_seconds":600})").status,
      201);
  get("/api/v1/networks/abilene/series?origin=N0&destination=N1");
  get("/api/v1/audit");
}

TEST_F(AnswersTest, TheStreamTellsWhatHappensAndGoesOnWhereItWasLeft) {
  history_.all_events.push_back(stored_event("a", kNow - 600, true));
  start();
  const auto id_before = [](const std::string& text, const std::string& event) {
    const std::size_t at = text.find("\nevent: " + event);
    const std::size_t begin = text.rfind("id: ", at) + 4;
    return text.substr(begin, at - begin);
  };
  auto watcher = std::make_unique<HttpClient>(port_);
  watcher->send("GET /api/v1/stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string head = watcher->read_until("retry: 3000\n\n");
  EXPECT_NE(head.find("Content-Type: text/event-stream"), std::string::npos);
  report(kNow - 600, {test::sample_event("a", kNow - 600)});
  const std::string opened = watcher->read_until("\"silenced\":false}\n\n");
  EXPECT_NE(opened.find("event: slice\ndata: {\"network\":\"abilene\""), std::string::npos)
      << opened;
  EXPECT_NE(opened.find("event: event-opened\ndata: {\"id\":\"a\""), std::string::npos) << opened;
  const std::string last = id_before(opened, "event-opened");
  watcher.reset();

  Event closed = test::sample_event("a", kNow - 600);
  closed.open = false;
  report(kNow - 300, {closed});  // missed
  HttpClient back(port_);
  back.send("GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: " + last + "\r\n\r\n");
  const std::string missed = back.read_until("\"silenced\":false}\n\n");
  EXPECT_EQ(missed.find("event-opened"), std::string::npos);
  EXPECT_NE(missed.find("event: event-closed"), std::string::npos) << missed;
  ask("POST", "/api/v1/events/a/ack");
  EXPECT_NE(back.read_until("\"silenced\":false}\n\n").find("event-updated"), std::string::npos);
  EXPECT_EQ(net_.run([this] { return api_->stream_clients(); }), 1u);

  HttpClient old(port_);
  old.send("GET /api/v1/stream?network=abilene HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 7\r\n\r\n");
  EXPECT_NE(old.read_until("known\"}\n\n").find("event: reset"), std::string::npos);
}

}  // namespace
}  // namespace outlierd::api
