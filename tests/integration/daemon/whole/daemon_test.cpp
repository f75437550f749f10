// The whole daemon: bytes in, events out, over its real sockets, as the real binary.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/daemon_process.h"
#include "tests/support/http_client.h"
#include "tests/support/line_client.h"
#include "tests/support/temporary_directory.h"

namespace outlierd {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::DaemonProcess;
using test::HttpClient;
using test::LineClient;
using test::matrix_line;

class WholeDaemon : public testing::Test {
 protected:
  // Sends these bins and waits for every answer.
  void push(int first, int last) {
    LineClient client = LineClient::unix_socket(daemon_.socket_path());
    int answered = first;
    for (int bin = first; bin < last; ++bin) {
      client.send(matrix_line(bin));
      if (bin - answered < 100) continue;
      ASSERT_NE(client.line().find("\"ok\":true"), std::string::npos);
      ++answered;
    }
    for (; answered < last; ++answered)
      ASSERT_NE(client.line().find("\"ok\":true"), std::string::npos) << answered;
  }
  json get(const std::string& target) { return json::parse(daemon_.get(target)); }
  // Waits until the network's last slice is that of the bin.
  void wait_for(int bin) {
    for (int look = 0; look < 5000; ++look) {
      const json last = get("/api/v1/status")["networks"][0]["last_slice"];
      if (last.is_string() && last == last_slice_of(bin)) return;
      std::this_thread::sleep_for(2ms);
    }
    FAIL() << get("/api/v1/status").dump();
  }
  static std::string last_slice_of(int bin) {
    const json message = json::parse(matrix_line(bin));
    return message["time"];
  }

  test::TemporaryDirectory folder_;
  DaemonProcess daemon_{OUTLIERD, folder_.path()};
};

TEST_F(WholeDaemon, FindsTheSurgeAndTellsOfItEverywhere) {
  daemon_.start();
  push(0, 700);
  wait_for(699);
  const json events = get("/api/v1/events?limit=1000")["items"];
  ASSERT_FALSE(events.empty());
  for (int bin : {150, 650}) {
    const bool found = std::any_of(events.begin(), events.end(), [&](const json& event) {
      return event["opened"] == last_slice_of(bin) && event["shape"] == "ddos" &&
             event["destinations"] == json::array({"C"});
    });
    EXPECT_TRUE(found) << "bin " << bin << ": " << events.dump(1);
  }
  const std::string id = events[0]["id"];
  EXPECT_EQ(get("/api/v1/events/" + id)["id"], id);
  EXPECT_EQ(get("/api/v1/networks/n/matrix?what=observed,expected,sparse,score")["nodes"].size(),
            6u);
  const json series =
      get("/api/v1/networks/n/series?origin=A&destination=C&from=" + last_slice_of(600) +
          "&to=" + last_slice_of(650));
  EXPECT_EQ(series["points"].size(), 50u);
  EXPECT_FALSE(get("/api/v1/anomalies?network=n")["items"].empty());
  EXPECT_NE(daemon_.get("/metrics").find("outlierd_slices_processed_total{network=\"n\"} 700"),
            std::string::npos);
  EXPECT_EQ(daemon_.terminate(), 0);
}

TEST_F(WholeDaemon, WatchesWithAnotherMethodWhereAskedAndGoesBackToItsOwn) {
  const std::string nodes = "networks: [{name: n, nodes: [A, B, C, D, E, F]";
  daemon_.networks = nodes + ", detection: {method: ewma+calibrated}}]\n";
  daemon_.start();
  EXPECT_EQ(get("/api/v1/networks/n")["detection"]["method"], "ewma+calibrated");
  push(0, 160);
  wait_for(159);
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["rank"], 0) << "it has no factors";
  EXPECT_FALSE(get("/api/v1/events?limit=1000")["items"].empty());
  EXPECT_EQ(get("/api/v1/networks/n/matrix?what=observed,expected,sparse,score")["nodes"].size(),
            6u);
  ASSERT_EQ(daemon_.terminate(), 0);
  daemon_.networks = nodes + ", detection: {method: online-sgd}}]\n";  // scores, no events
  daemon_.start();
  push(160, 200);
  wait_for(199);
  ASSERT_EQ(daemon_.terminate(), 0);
  daemon_.networks = nodes + "}]\n";
  daemon_.start();
  EXPECT_EQ(get("/api/v1/networks/n")["detection"]["method"], "outlierd");
  push(200, 260);
  wait_for(259);
  EXPECT_GT(get("/api/v1/status")["networks"][0]["warmup"], 0.0);
}

TEST_F(WholeDaemon, ARestartKeepsWhatIsKnownAndGoesOnWithIt) {
  daemon_.start();
  push(0, 400);
  wait_for(399);
  const json before = get("/api/v1/events?limit=1000");
  const json status = get("/api/v1/status")["networks"][0];
  ASSERT_EQ(daemon_.terminate(), 0);
  daemon_.start();
  for (int look = 0; look < 1000 && get("/api/v1/status")["networks"][0]["last_slice"].is_null();
       ++look)
    std::this_thread::sleep_for(2ms);
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["last_slice"], status["last_slice"]);
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["rank"], status["rank"]);
  EXPECT_EQ(get("/api/v1/events?limit=1000"), before);
  push(400, 420);
  wait_for(419);
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["warmup"].is_number(), true);
}

TEST_F(WholeDaemon, AnAcknowledgementAndASilenceOutliveARestartAndLeaveATrail) {
  daemon_.start();
  push(0, 400);
  wait_for(399);
  const std::string id = get("/api/v1/events?limit=1")["items"].at(0)["id"];
  {
    HttpClient client(daemon_.http_port());
    const std::string type = "Content-Type: application/json\r\n";
    const auto acknowledged = client.ask("POST", "/api/v1/events/" + id + "/ack", type,
                                         R"({"by":"ann","comment":"seen"})");
    ASSERT_TRUE(acknowledged);
    EXPECT_EQ(acknowledged->status, 200) << acknowledged->body;
    const auto silenced = client.ask(
        "POST", "/api/v1/silences", type,
        R"({"network":"n","destination":"C","ends":"2100-01-01T00:00:00Z","comment":"known"})");
    ASSERT_TRUE(silenced);
    EXPECT_EQ(silenced->status, 201) << silenced->body;
  }
  daemon_.kill();
  daemon_.start();
  for (int look = 0; look < 1000 && get("/api/v1/silences")["items"].empty(); ++look)
    std::this_thread::sleep_for(2ms);
  EXPECT_FALSE(get("/api/v1/events/" + id)["acknowledged"].is_null());
  EXPECT_EQ(get("/api/v1/silences")["items"].size(), 1u);
  EXPECT_GE(get("/api/v1/audit")["items"].size(), 2u);
}

TEST_F(WholeDaemon, ABackupOfTheRunningStoreIsAStoreToStartFrom) {
  daemon_.start();
  push(0, 200);
  wait_for(199);
  const json events = get("/api/v1/events?limit=1000");
  const std::string copy = (folder_.path() / "copy.db").string();
  HttpClient client(daemon_.http_port());
  const std::string type = "Content-Type: application/json\r\n";
  const std::string body = json{{"path", copy}}.dump();
  auto answer = client.ask("POST", "/api/v1/backup", type, body);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  answer = client.ask("POST", "/api/v1/backup", type, body);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 409) << answer->body;
  EXPECT_EQ(daemon_.terminate(), 0);
  std::filesystem::remove_all(folder_.path() / "store");
  std::filesystem::create_directories(folder_.path() / "store");
  std::filesystem::copy(copy, folder_.path() / "store" / "outlierd.db");
  daemon_.start();
  for (int look = 0; look < 1000 && get("/api/v1/events?limit=1000") != events; ++look)
    std::this_thread::sleep_for(2ms);
  EXPECT_EQ(get("/api/v1/events?limit=1000"), events);
}

TEST_F(WholeDaemon, SigtermUnderLoadFinishesWhatWasAccepted) {
  daemon_.start();
  LineClient client = LineClient::unix_socket(daemon_.socket_path());
  std::thread sender([&] {
    try {
      for (int bin = 0; bin < 3000; ++bin) client.send(matrix_line(bin));
    } catch (const std::exception&) {
      // it stopped reading
    }
  });
  int answered = 0;
  while (answered < 200 && client.line().find("\"ok\":true") != std::string::npos) ++answered;
  daemon_.signal(SIGTERM);
  while (client.line().find("\"ok\":true") != std::string::npos) ++answered;
  sender.join();
  EXPECT_EQ(daemon_.exit_code(), 0) << daemon_.log();
  EXPECT_GE(answered, 200);
  daemon_.start();
  // All of it is in the last snapshot: there is nothing to replay.
  EXPECT_EQ(daemon_.log().find("journal_replayed"), std::string::npos) << daemon_.log();
  for (int look = 0; look < 1000 && get("/api/v1/status")["networks"][0]["last_slice"].is_null();
       ++look)
    std::this_thread::sleep_for(2ms);
  EXPECT_EQ(get("/api/v1/status")["networks"][0]["last_slice"], last_slice_of(answered - 1));
}

TEST_F(WholeDaemon, PartsOfSeveralSourcesAddUpAndWhatIsWrongIsAnswered) {
  daemon_.networks =
      "networks: [{name: n, nodes: [A, B], sources: [east, west], lateness: 3600s}]\n";
  daemon_.start();
  LineClient client = LineClient::unix_socket(daemon_.socket_path());
  const auto send = [&](const std::string& line) {
    client.send(line + "\n");
    return client.line();
  };
  const std::string at = R"({"network":"n","time":"2020-01-01T00:00:00Z",)";
  EXPECT_EQ(send(at + R"("source":"east","sequence":1,"complete":true,"values":[[1,2],[null,4]]})"),
            R"({"ok":true,"network":"n","time":"2020-01-01T00:00:00Z","cells":3})");
  EXPECT_EQ(send("garbage").substr(0, 12), R"({"ok":false,)");
  EXPECT_EQ(
      send(at + R"("source":"west","sequence":1,"complete":true,"values":[[10,20],[null,null]]})")
          .substr(0, 10),
      R"({"ok":true)");
  EXPECT_NE(send(at + R"("source":"west","sequence":2,"values":[[1,1],[1,1]]})").find("late"),
            std::string::npos);
  EXPECT_NE(send(R"({"network":"n","time":"2099-01-01T00:00:00Z","cells":[]})").find("ahead"),
            std::string::npos);
  for (int look = 0; look < 1000 && get("/api/v1/status")["networks"][0]["last_slice"].is_null();
       ++look)
    std::this_thread::sleep_for(2ms);
  EXPECT_EQ(get("/api/v1/networks/n/matrix?what=observed")["observed"],
            json::parse("[[11.0,22.0],[null,4.0]]"));
  EXPECT_NE(daemon_.get("/metrics").find("outlierd_parts_late_total{network=\"n\"} 1"),
            std::string::npos);
}

TEST_F(WholeDaemon, HttpTakesJsonLinesAndCborAndSaysWhatIsWrong) {
  daemon_.networks = "networks: [{name: n, nodes: [A, B]}]\n";
  daemon_.start();
  HttpClient client(daemon_.http_port());
  const auto post = [&](const std::string& type, const std::string& body) {
    const auto answer =
        client.ask("POST", "/api/v1/networks/n/slices", "Content-Type: " + type + "\r\n", body);
    return answer ? answer->status : 0;
  };
  const std::string line =
      R"({"time":"2020-01-01T00:00:00Z","complete":true,"values":[[1,2],[3,4]],"source":"s","sequence":1})";
  EXPECT_EQ(post("application/json", line), 202);
  EXPECT_EQ(post("application/json", line), 202);  // sent again: it is there
  EXPECT_EQ(post("application/json", R"({"time":"2020-01-01T00:00:00Z","values":[[1,2],[3,4]]})"),
            409);
  EXPECT_EQ(post("application/json", R"({"time":"2020-01-01T00:05:00Z","values":[[1,"x"],[3,4]]})"),
            422);
  EXPECT_EQ(post("application/x-ndjson", R"({"time":"2020-01-01T00:05:00Z","values":[[1,2],[3,4]]})"
                                         "\n"
                                         R"({"time":"2020-01-01T00:10:00Z","values":[[1,2],[3,4]]})"
                                         "\n"),
            202);
  const std::vector<std::uint8_t> map =
      json::to_cbor({{"time", "2020-01-01T00:15:00Z"}, {"values", {{1.0, 2.0}, {3.0, nullptr}}}});
  EXPECT_EQ(post("application/cbor", std::string(map.begin(), map.end())), 202);
  EXPECT_EQ(post("text/plain", "hello"), 415);
}

TEST_F(WholeDaemon, ANodeMayComeAndGoWithoutTheOthersModel) {
  daemon_.networks = "networks: [{name: n, nodes: [A, B, C, D, E, F]}]\n";
  daemon_.start();
  push(0, 300);
  wait_for(299);
  const double warm = get("/api/v1/status")["networks"][0]["warmup"];
  ASSERT_GT(warm, 0.0);
  ASSERT_EQ(daemon_.terminate(), 0);
  daemon_.networks = "networks: [{name: n, nodes: [A, B, X, C, D, E]}]\n";
  daemon_.start();
  LineClient client = LineClient::unix_socket(daemon_.socket_path());
  json message = json::parse(matrix_line(300));
  message["nodes"] = {"A", "B", "X", "C", "D", "E"};
  client.send(message.dump() + "\n");
  ASSERT_NE(client.line().find("\"ok\":true"), std::string::npos);
  wait_for(300);
  EXPECT_EQ(daemon_.log().find("snapshot_refused"), std::string::npos) << daemon_.log();
  EXPECT_GE(double(get("/api/v1/status")["networks"][0]["warmup"]), warm * 0.9);
  const json matrix = get("/api/v1/networks/n/matrix?what=expected")["expected"];
  EXPECT_TRUE(matrix[0][1].is_number()) << matrix.dump();
}

TEST_F(WholeDaemon, AFullDiskIsSaidAndForgottenWhenItPasses) {
  daemon_.start();
  push(0, 50);
  wait_for(49);
  // No file may grow: as a full disk, but for this process alone.
  rlimit unlimited{};
  ASSERT_EQ(::prlimit(daemon_.pid(), RLIMIT_FSIZE, nullptr, &unlimited), 0);
  const rlimit none{1, unlimited.rlim_max};
  ASSERT_EQ(::prlimit(daemon_.pid(), RLIMIT_FSIZE, &none, nullptr), 0);
  LineClient client = LineClient::unix_socket(daemon_.socket_path());
  client.send(matrix_line(50));
  EXPECT_EQ(client.line(), R"({"ok":false,"line":1,"error":"not durable","retry":true})");
  wait_for(50);  // scored all the same
  HttpClient http(daemon_.http_port());
  const auto ready = http.get("/-/ready");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status, 503);
  ASSERT_EQ(::prlimit(daemon_.pid(), RLIMIT_FSIZE, &unlimited, nullptr), 0);
  client.send(matrix_line(51));
  EXPECT_NE(client.line().find("\"ok\":true"), std::string::npos);
  // What was not durable is taken as sent again once a snapshot has it.
  std::string answer;
  for (int look = 0; look < 100; ++look) {
    client.send(matrix_line(50));
    answer = client.line();
    if (answer.find("\"ok\":true") != std::string::npos) break;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_NE(answer.find("\"ok\":true"), std::string::npos) << answer;
  EXPECT_NE(daemon_.get("/metrics").find("outlierd_slices_processed_total{network=\"n\"} 52"),
            std::string::npos);
  for (int look = 0; look < 100; ++look) {
    const auto again = http.get("/-/ready");
    if (again && again->status == 200) break;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(http.get("/-/ready")->status, 200);
}

TEST_F(WholeDaemon, TenThousandIdleConnectionsAreRefusedPastTheLimitAndWorkGoesOn) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 10100)
    GTEST_SKIP() << "this process may open " << files.rlim_max << " files";
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  daemon_.start();
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int k = 0; k < 10000; ++k) {
    idle.push_back(std::make_unique<HttpClient>(daemon_.http_port()));
    if (k % 100 == 99) std::this_thread::sleep_for(2ms);  // what is refused is refused in time
  }
  push(0, 50);  // another door is open all the while
  idle.clear();
  wait_for(49);
  const std::string metrics = daemon_.get("/metrics");
  const std::string name = "outlierd_http_connections_refused_total ";
  const std::size_t at = metrics.find("\n" + name);
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stod(metrics.substr(at + 1 + name.size())), 8900.0);
}

TEST_F(WholeDaemon, ADamagedSnapshotIsSetAside) {
  daemon_.start();
  push(0, 100);
  wait_for(99);
  ASSERT_EQ(daemon_.terminate(), 0);
  int damaged = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(folder_.path() / "store" / "models")) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(200);
    bytes.put('x');
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  daemon_.start();
  EXPECT_NE(daemon_.log().find("snapshot_damaged"), std::string::npos) << daemon_.log();
  push(100, 110);
  wait_for(109);
}

}  // namespace
}  // namespace outlierd
