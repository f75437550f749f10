#include "config/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace outlierd::config {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The example of CONTRACT.md, word for word.
const char* const kExample =
    R"(http: {listen: 127.0.0.1:9471, tls: {certificate_file: , key_file: }, tokens_file: }
matrices: [{listen: tcp://127.0.0.1:9470}, {listen: unix:/run/outlierd/matrices.sock}]   # tls:// too
flows:
  - {listen: udp://0.0.0.0:2055, protocol: netflow, receive_buffer: 4MiB, exporters: [192.0.2.0/24], network: abilene}
  - {listen: udp://0.0.0.0:6343, protocol: sflow, exporters: [192.0.2.0/24], network: abilene}
  - {listen: tcp://127.0.0.1:9472, protocol: json, network: abilene}
networks:
  - name: abilene
    nodes: [ATLA, CHIN, DNVR]
    bin: 5m
    lateness: 60s
    sources: []                   # who must report before a bin may close early
    time_zone: UTC                # for the daily and weekly profile
    metrics: [bytes]
    node_map:                     # flows to nodes; most specific wins
      prefixes: {192.0.2.0/24: ATLA, 2001:db8::/32: CHIN}
      exporters: {198.51.100.1: ATLA, "198.51.100.2/ifindex 7": CHIN}
      next_hops: {203.0.113.1: DNVR}
    sampling: {unknown: reject}   # or last_known, or assume: 1000
    model: {max_rank: 10, window: 20, forgetting: 0.98}
    detection: {false_alarms_per_day: 1, minimum_share: 0.01}
store: {path: /var/lib/outlierd, keep: 30d, max_size: 10GiB}   # kept back from the newest slice, not from today
notify:
  - {alertmanager: http://127.0.0.1:9093}
  - {webhook: https://example.net/hook, token_file: , hmac_key_file: }
  - {syslog: udp://127.0.0.1:514}
log: {level: info, format: text}
)";

Config loaded(const std::string& yaml) {
  const auto config = load_text(yaml);
  if (config) return *config;
  for (const Problem& problem : config.error()) ADD_FAILURE() << format("f", problem);
  return {};
}

std::string only_problem(const Loaded& result) {
  if (result || result.error().size() != 1) return "not one problem";
  return format("f", result.error()[0]);
}

TEST(Load, TakesTheExampleOfTheContract) {
  const Config config = loaded(kExample);
  EXPECT_EQ(config.http, Http{});
  ASSERT_EQ(config.matrices.size(), 2u);
  EXPECT_EQ(config.matrices[0], MatrixListener{});
  EXPECT_EQ(config.matrices[1].listen,
            (Endpoint{Transport::kUnix, "", 0, "/run/outlierd/matrices.sock"}));
  ASSERT_EQ(config.flows.size(), 3u);
  EXPECT_EQ(config.flows[0].listen, (Endpoint{Transport::kUdp, "0.0.0.0", 2055, ""}));
  EXPECT_EQ(config.flows[0].receive_buffer, 4194304u);
  EXPECT_EQ(config.flows[1].protocol, FlowProtocol::kSflow);
  EXPECT_EQ(text_of(config.flows[1].exporters.at(0)), "192.0.2.0/24");
  EXPECT_EQ(config.flows[2].network, "abilene");
  ASSERT_EQ(config.networks.size(), 1u);
  ASSERT_EQ(config.notify.size(), 3u);
  EXPECT_EQ(config.notify[0].url, (Url{false, "", "127.0.0.1", 9093, "/"}));
  EXPECT_EQ(config.notify[1].kind, NotifierKind::kWebhook);
  EXPECT_EQ(config.notify[1].token_file, "");
  EXPECT_EQ(config.notify[2].syslog, (Endpoint{Transport::kUdp, "127.0.0.1", 514, ""}));
  EXPECT_EQ(config.store, Store{});
  EXPECT_EQ(config.log, Log{});
}

TEST(Load, ReadsTheNodeMapOfTheContract) {
  const NodeMap map = loaded(kExample).networks.at(0).node_map;
  ASSERT_EQ(map.prefixes.size(), 2u);
  EXPECT_EQ(text_of(map.prefixes[1].prefix), "2001:db8::/32");
  EXPECT_EQ(map.prefixes[1].node, "CHIN");
  ASSERT_EQ(map.exporters.size(), 2u);
  EXPECT_EQ(map.exporters[0].interface, std::nullopt);
  EXPECT_EQ(text_of(map.exporters[1].exporter), "198.51.100.2");
  EXPECT_EQ(map.exporters[1].interface, 7u);
  ASSERT_EQ(map.next_hops.size(), 1u);
  EXPECT_EQ(map.next_hops[0].node, "DNVR");
}

TEST(Load, NeedsNoMoreThanNetworks) {
  Config expected;
  NetworkConfig network;
  network.name = "a";
  network.nodes = {"x", "NO"};  // NO is a text, not a boolean
  expected.networks = {network};
  EXPECT_EQ(loaded("networks: [{name: a, nodes: [x, NO]}]"), expected);
  EXPECT_EQ(loaded("{\"networks\": [{\"name\": \"a\", \"nodes\": [\"x\", \"NO\"]}]}"), expected);
  EXPECT_EQ(loaded("\xEF\xBB\xBFnetworks:\r\n- name: a\r\n  nodes: [x, NO]\r\n"), expected);
}

TEST(Load, TakesAnEmptyValueForNotSet) {
  EXPECT_EQ(loaded("networks: [{name: a, nodes: [x, y], bin: , model: , detection: }]\n"
                   "http:\nmatrices:\nflows:\nstore: {path: , keep: ~}\nnotify:\nlog:\n"),
            loaded("networks: [{name: a, nodes: [x, y]}]"));
}

TEST(Load, ReadsEverySettingOfANetwork) {
  const NetworkConfig network =
      loaded(
          "networks:\n- {name: n, nodes: [a, b], bin: 1m, lateness: 0s, sources: [c1, \"c 2\"],"
          " metrics: [packets, bytes], sampling: {unknown: {assume: 1000}},"
          " model: {max_rank: 3, window: 7, forgetting: 0.5},"
          " detection: {false_alarms_per_day: 0.5, minimum_share: 0, close_after_slices: 9,"
          " method: ewma+calibrated},"
          " node_map: {prefix_file: /etc/p}}\n")
          .networks.at(0);
  EXPECT_EQ(network.bin, 60s);
  EXPECT_EQ(network.lateness, 0s);
  EXPECT_EQ(network.sources, (std::vector<std::string>{"c1", "c 2"}));
  EXPECT_EQ(network.sampling, (Sampling{UnknownSampling::kAssume, 1000}));
  EXPECT_EQ(network.node_map.prefix_file, "/etc/p");

  const Network of_core = network_of(network);
  EXPECT_EQ(of_core, (Network{"n", {"a", "b"}, {"packets", "bytes"}, 60}));
  const PipelineOptions options = pipeline_options_of(network);
  EXPECT_EQ(options.model.max_rank, 3);
  EXPECT_EQ(options.model.window, 7);
  EXPECT_EQ(options.model.forgetting, 0.5);
  EXPECT_EQ(options.model.problem(), "");
  EXPECT_EQ(options.detection.false_alarms_per_day, 0.5);
  EXPECT_EQ(options.detection.minimum_share, 0.0);
  EXPECT_EQ(options.detection.close_after_slices, 9);
  EXPECT_EQ(network.detection.method, "ewma+calibrated");
}

TEST(Load, TakesAnAssumedSamplingRateInEveryWayTheContractCanBeRead) {
  const std::string network = "networks: [{name: n, nodes: [a, b], sampling: ";
  const Sampling thousand{UnknownSampling::kAssume, 1000};
  for (const char* text : {"{unknown: {assume: 1000}}", "{assume: 1000}",
                           "{unknown: \"assume: 1000\"}", "{unknown: assume:1000}"})
    EXPECT_EQ(loaded(network + text + "}]").networks.at(0).sampling, thousand) << text;
  EXPECT_EQ(loaded(network + "{unknown: last_known}}]").networks.at(0).sampling.unknown,
            UnknownSampling::kLastKnown);
  EXPECT_EQ(only_problem(load_text(network + "{unknown: reject, assume: 5}}]")),
            "f:1:73: networks[0].sampling.assume: and unknown exclude each other: write unknown: "
            "{assume: 1000}");
}

TEST(Load, ListensBeyondLoopbackWhenToldWhoMayCome) {
  const std::string network = "networks: [{name: n, nodes: [a, b]}]\n";
  const Config config = loaded(
      network +
      "http: {listen: \"[::]:0\", tokens_file: /t, tls: {certificate_file: c, key_file: k}}\n"
      "matrices:\n- {listen: \"tcp://0.0.0.0:0\", allow_anonymous: true}\n"
      "- {listen: \"tls://0.0.0.0:0\", tokens_file: /t, tls: {certificate_file: c, key_file: "
      "k}}\n");
  EXPECT_TRUE(config.http.tls.enabled());
  EXPECT_EQ(config.http.tokens_file, "/t");
  EXPECT_TRUE(config.matrices.at(0).allow_anonymous);
  EXPECT_EQ(config.matrices.at(1).listen.transport, Transport::kTls);
}

TEST(Load, SharesAPortBetweenTcpAndUdp) {
  const Config config = loaded(
      "networks: [{name: n, nodes: [a, b]}]\n"
      "flows: [{listen: \"udp://127.0.0.1:9470\", protocol: sflow}]\n");
  EXPECT_EQ(config.flows.at(0).listen.port, config.matrices.at(0).listen.port);
}

TEST(Load, FollowsAliases) {
  const Config config = loaded(
      "networks:\n- {name: n, nodes: &nodes [a, b], model: &model {window: 9}}\n"
      "- {name: m, nodes: *nodes, model: *model}\n");
  EXPECT_EQ(config.networks.at(1).nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.networks.at(1).model.window, 9);
}

TEST(Load, KnowsTheTimeZonesOfTheMachine) {
  const std::string network = "networks: [{name: n, nodes: [a, b], time_zone: ";
  if (!fs::exists("/usr/share/zoneinfo/Europe/Berlin")) {
    EXPECT_FALSE(load_text(network + "Europe/Berlin}]").has_value());
    GTEST_SKIP() << "tzdata is not installed";
  }
  EXPECT_EQ(loaded(network + "Europe/Berlin}]").networks.at(0).time_zone, "Europe/Berlin");
  EXPECT_EQ(only_problem(load_text(network + "Europe/Berlinn}]")),
            "f:1:48: networks[0].time_zone: must be the name of a time zone, such as UTC or "
            "Europe/Berlin");
}

class LoadFile : public testing::Test {
 protected:
  LoadFile() { fs::create_directories(folder_); }
  ~LoadFile() override { fs::remove_all(folder_); }

  fs::path write(const std::string& text) const {
    std::ofstream(folder_ / "outlierd.yaml", std::ios::binary) << text;
    return folder_ / "outlierd.yaml";
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("outlierd_config_" + std::to_string(getpid()));
};

TEST_F(LoadFile, IsLoadTextOfItsContent) {
  EXPECT_EQ(*load_file(write(kExample)), loaded(kExample));
  EXPECT_EQ(only_problem(load_file(write("networks: []\n"))),
            "f:1:11: networks: at least one network is needed");
}

TEST_F(LoadFile, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(only_problem(load_file(folder_ / "none.yaml")), "f: cannot be read: no such file");
  EXPECT_EQ(only_problem(load_file(folder_)), "f: cannot be read: it is a directory");
  EXPECT_EQ(only_problem(load_file(write("") / "x")), "f: cannot be read: no such file");
  EXPECT_EQ(only_problem(load_file(write(std::string(5 << 20, '#')))),
            "f: is larger than 4MiB, the most that is read");
  EXPECT_EQ(only_problem(load_file("/dev/zero")), "f: is larger than 4MiB, the most that is read");
}

TEST_F(LoadFile, SaysThatItMayNotReadAFile) {
  const fs::path file = write(kExample);
  fs::permissions(file, fs::perms::none);
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  EXPECT_EQ(only_problem(load_file(file)), "f: cannot be read: Permission denied");
}

}  // namespace
}  // namespace outlierd::config
