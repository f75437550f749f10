#include "config/dump.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace outlierd::config {
namespace {

void expect_same_when_loaded(const Config& config) {
  const std::string text = dump(config);
  const auto again = load_text(text);
  ASSERT_TRUE(again.has_value()) << format("dump", again.error().front()) << "\n" << text;
  EXPECT_TRUE(*again == config) << text;
  EXPECT_EQ(dump(*again), text);
}

// Every field away from its default, so that one the dump forgets is missed.
Config unusual() {
  Config config;
  config.http = {{Transport::kTcp, "2001:db8::1", 0, ""},
                 {"/c ert.pem", "/key.pem"},
                 "/tok\"ens",
                 true,
                 5,
                 3 * kMiB + 1,
                 std::chrono::milliseconds(1234)};
  config.matrices = {{{Transport::kTls, "0.0.0.0", 1, ""}, {"c", "k"}, "/t", true, 6, 2000000},
                     {{Transport::kUnix, "", 0, "/run/a b: c # d.sock"}, {}, "", false, 7, kMiB}};
  config.flows = {
      {{Transport::kUdp, "0.0.0.0", 2055, ""},
       FlowProtocol::kSflow,
       5 * kMiB,
       3,
       true,
       {*parse_prefix("10.0.0.0/8"), *parse_prefix("::/0")},
       "n"},
      {{Transport::kTcp, "127.0.0.1", 9, ""}, FlowProtocol::kJson, kMiB, 1, false, {}, "null"}};
  NetworkConfig network;
  network.name = "n";
  network.nodes = {"yes", "null", "-", "1e3", "~x", "NO"};
  network.nodes[4] = "_x";
  network.bin = std::chrono::seconds(30);
  network.lateness = std::chrono::seconds(0);
  network.sources = {"a, b", "[c]", "#d", "e: f", "\\g\"", "'h'", " i ", "\xc3\xa4", "*j", "~"};
  network.metrics = {"flows", "bytes"};
  network.node_map.prefixes = {{*parse_prefix("::/0"), "NO"}, {*parse_prefix("10.0.0.0/8"), "-"}};
  network.node_map.exporters = {{*parse_ip("::1"), 4294967295u, "null"},
                                {*parse_ip("10.0.0.1"), std::nullopt, "yes"}};
  network.node_map.next_hops = {{*parse_ip("2001:db8::"), "1e3"}};
  network.node_map.prefix_file = "/etc/outlierd/prefixes";
  network.sampling = {UnknownSampling::kAssume, 4096};
  network.model = {3, 9, 1.0 / 3.0};
  network.detection = {0.1, 1e-7, 4};
  config.networks = {network, network};
  config.networks[1].name = "null";
  config.networks[1].sampling = {UnknownSampling::kLastKnown, 0};
  config.store = {"relative/path:", std::chrono::hours(25), 7 * kGiB,
                  std::chrono::milliseconds(1500)};
  Notifier alertmanager, webhook, syslog;
  alertmanager.url = {true, "", "::1", 9093, "/x?y=%20"};
  webhook.kind = NotifierKind::kWebhook;
  webhook.url = {false, "", "example.net", 80, "/"};
  webhook.token_file = "/t";
  webhook.hmac_key_file = "/h";
  syslog.kind = NotifierKind::kSyslog;
  syslog.syslog = {Transport::kUdp, "log.example.net", 514, ""};
  config.notify = {alertmanager, webhook, syslog};
  config.log = {LogLevel::kTrace, LogFormat::kJson};
  return config;
}

TEST(Dump, GivesTheSameConfigWhenLoaded) { expect_same_when_loaded(unusual()); }

TEST(Dump, OfTheDemoGivesTheDemoWhenLoaded) { expect_same_when_loaded(demo_config()); }

TEST(Dump, KeepsThatThereAreNoMatrixListeners) {
  Config config = demo_config();
  config.matrices.clear();
  expect_same_when_loaded(config);
}

TEST(Dump, NamesEveryKeyOfTheDefaults) {
  const std::string text = dump(demo_config());
  for (const char* key : {"listen",
                          "tls",
                          "certificate_file",
                          "key_file",
                          "tokens_file",
                          "allow_anonymous",
                          "max_connections",
                          "max_body",
                          "request_timeout",
                          "max_line",
                          "flows",
                          "name",
                          "nodes",
                          "bin",
                          "lateness",
                          "sources",
                          "time_zone",
                          "metrics",
                          "prefixes",
                          "exporters",
                          "next_hops",
                          "prefix_file",
                          "unknown",
                          "max_rank",
                          "window",
                          "forgetting",
                          "false_alarms_per_day",
                          "minimum_share",
                          "close_after_slices",
                          "method",
                          "path",
                          "keep",
                          "max_size",
                          "snapshot_every",
                          "notify",
                          "level",
                          "format"})
    EXPECT_NE(text.find(std::string(key) + ":"), std::string::npos) << key;
}

TEST(Dump, HidesPasswordsAndSuchADumpIsRefused) {
  Config config = demo_config();
  config.notify.emplace_back().url = *parse_url("http://me:hunter2@127.0.0.1:9093");
  const std::string text = dump(config);
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_NE(text.find("http://me:<secret>@127.0.0.1:9093/"), std::string::npos);
  EXPECT_FALSE(load_text(text).has_value());
}

TEST(Demo, IsTwelveCitiesOnLoopback) {
  const Config demo = demo_config();
  ASSERT_EQ(demo.networks.size(), 1u);
  EXPECT_EQ(demo.networks[0].name, "demo");
  EXPECT_EQ(demo.networks[0].nodes.size(), 12u);
  EXPECT_EQ(host_port(demo.http.listen), "127.0.0.1:9471");
  ASSERT_EQ(demo.matrices.size(), 1u);
  EXPECT_EQ(text_of(demo.matrices[0].listen), "tcp://127.0.0.1:9470");
  EXPECT_EQ(demo.store, Store{});
}

}  // namespace
}  // namespace outlierd::config
