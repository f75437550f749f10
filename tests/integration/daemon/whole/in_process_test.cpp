// The daemon inside the test's own process, on free ports: what the thread sanitizer can see whole.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "config/load.h"
#include "daemon/daemon.h"
#include "tests/support/daemon_process.h"
#include "tests/support/http_client.h"
#include "tests/support/line_client.h"
#include "tests/support/temporary_directory.h"

namespace outlierd {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

TEST(DaemonInProcess, RunsSeveralNetworksAtOnceAndStopsWhenAsked) {
  test::TemporaryDirectory folder;
  auto config = config::load_text(
      "http: {listen: 127.0.0.1:0}\nmatrices: [{listen: tcp://127.0.0.1:0}]\n"
      "store: {path: " +
      (folder.path() / "store").string() +
      ", snapshot_every: 200ms}\n"
      "networks:\n"
      "  - {name: n, nodes: [A, B, C, D, E, F]}\n"
      "  - {name: m, nodes: [A, B, C, D, E, F]}\n"
      "  - {name: o, nodes: [A, B, C, D, E, F]}\n");
  ASSERT_TRUE(config) << config.error()[0].message;
  Daemon daemon(*config, {.config_file = "", .handle_signals = false});
  std::thread thread([&] { daemon.run(); });

  constexpr int kBins = 120;
  std::vector<std::thread> senders;
  for (const char* name : {"n", "m", "o"})
    senders.emplace_back([&, name] {
      test::LineClient client = test::LineClient::tcp(daemon.matrix_port(0));
      for (int bin = 0; bin < kBins; ++bin) {
        json message = json::parse(test::matrix_line(bin));
        message["network"] = name;
        client.send(message.dump() + "\n");
        EXPECT_NE(client.line().find("\"ok\":true"), std::string::npos);
      }
    });
  test::HttpClient http(daemon.http_port());
  for (int look = 0; look < 50; ++look) {
    for (const char* target : {"/api/v1/status", "/api/v1/events", "/metrics", "/api/v1/audit"}) {
      const auto answer = http.get(target);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 200) << target;
    }
    std::this_thread::sleep_for(10ms);
  }
  for (std::thread& sender : senders) sender.join();
  for (int look = 0; look < 5000; ++look) {
    const auto answer = http.get("/metrics");
    ASSERT_TRUE(answer);
    const auto count = [&](const std::string& name) {
      return answer->body.find("outlierd_slices_processed_total{network=\"" + name + "\"} " +
                               std::to_string(kBins)) != std::string::npos;
    };
    if (count("n") && count("m") && count("o")) break;
    ASSERT_LT(look, 4999) << answer->body;
    std::this_thread::sleep_for(2ms);
  }
  daemon.stop();
  thread.join();
}

TEST(DaemonInProcess, ATakenPortIsAnErrorThatNamesIt) {
  test::TemporaryDirectory folder;
  const auto make = [&](const std::string& name, int port) {
    return *config::load_text("http: {listen: 127.0.0.1:" + std::to_string(port) +
                              "}\nmatrices: []\nstore: {path: " + (folder.path() / name).string() +
                              "}\nnetworks: [{name: n, nodes: [A, B]}]\n");
  };
  Daemon first(make("first", 0), {.config_file = "", .handle_signals = false});
  try {
    Daemon second(make("second", first.http_port()), {.config_file = "", .handle_signals = false});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(first.http_port())), std::string::npos)
        << error.what();
  }
}

TEST(DaemonInProcess, AStoreInUseIsAnErrorThatSaysSo) {
  test::TemporaryDirectory folder;
  const auto config = *config::load_text(
      "http: {listen: 127.0.0.1:0}\nmatrices: []\nstore: {path: " + folder.path().string() +
      "}\nnetworks: [{name: n, nodes: [A, B]}]\n");
  Daemon first(config, {.config_file = "", .handle_signals = false});
  EXPECT_THROW(Daemon(config, {.config_file = "", .handle_signals = false}), std::runtime_error);
}

}  // namespace
}  // namespace outlierd
