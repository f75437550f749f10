// Flow export in, traffic matrices and events out: the real daemon, real datagrams.

#include "tests/support/flows.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/traffic/time_text.h"
#include "daemon/ctl/flow_encoder.h"
#include "daemon/ctl/flow_simulation.h"
#include "tests/support/daemon_process.h"
#include "tests/support/http_client.h"
#include "tests/support/line_client.h"
#include "tests/support/temporary_directory.h"

namespace outlierd {
namespace {

using namespace std::chrono_literals;
using ctl::ExportProtocol;
using ctl::FlowEncoder;
using nlohmann::json;

constexpr EpochSeconds kStart = 1'800'000'000 / 300 * 300 - 86'400 * 1000;  // old data, any speed

constexpr const char* kListener =
    "flows: [{listen: 'udp://127.0.0.1:0', protocol: netflow, receive_buffer: 32MiB}]\n";

// What a command wrote to standard output and error.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), got);
  ::pclose(pipe);
  return text;
}

std::string indented(const std::string& yaml) {
  std::string out = "    ";
  for (const char c : yaml) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out + "\n";
}

// A router on loopback with an address of its own.
class Router {
 public:
  Router(int number, int port, ExportProtocol protocol)
      : encoder_(protocol, kStart * 1000 - 1'000'000, std::uint32_t(number),
                 test::four(192, 0, 2, number)) {
    socket_ = ::socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7f020000u + std::uint32_t(number));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(std::uint16_t(port));
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Router() { ::close(socket_); }
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  void send(std::span<const FlowRecord> records, std::int64_t exported) {
    for (; records.size() > 20; records = records.subspan(20)) send(records.first(20), exported);
    const auto datagram = encoder_.encode(records, exported);
    ASSERT_EQ(::send(socket_, datagram.data(), datagram.size(), 0), ssize_t(datagram.size()));
    std::this_thread::sleep_for(200us);
  }

 private:
  int socket_ = -1;
  FlowEncoder encoder_;
};

class FlowDaemon : public testing::Test {
 protected:
  void SetUp() override { daemon_.networks = networks("[bytes]"); }
  static std::string networks(const std::string& metrics, const std::string& more = "") {
    return std::string(kListener) +
           "networks:\n  - name: n\n    nodes: [A, B, C]\n    lateness: 30s\n    metrics: " +
           metrics +
           "\n    node_map:\n      prefixes: {10.0.0.0/24: A, 10.0.1.0/24: B, 10.0.2.0/24: C}\n" +
           more;
  }
  int flow_port() const {
    const std::string log = daemon_.log();
    const std::size_t at = log.find(" port=", log.find("event=flow_listening"));
    return std::stoi(log.substr(at + 6));
  }
  json get(const std::string& target) { return json::parse(daemon_.get(target)); }
  void wait_for_slice(EpochSeconds time) {
    for (int look = 0; look < 3000; ++look) {
      const json last = get("/api/v1/status")["networks"][0]["last_slice"];
      if (last.is_string() && last.get<std::string>() >= time_text(time)) return;
      std::this_thread::sleep_for(10ms);
    }
    FAIL() << get("/api/v1/status").dump() << daemon_.log();
  }
  json observed(EpochSeconds time, const std::string& metric = "bytes") {
    return get("/api/v1/networks/n/matrix?what=observed&metric=" + metric +
               "&time=" + time_text(time))["observed"];
  }
  static FlowRecord flow(int from, int to, std::int64_t end, std::uint64_t bytes = 100) {
    FlowRecord record = test::flow(ctl::FlowSimulation::host(from, 1),
                                   ctl::FlowSimulation::host(to, 2), end - 10, end);
    record.bytes = bytes;
    record.protocol = 6;
    return record;
  }

  test::TemporaryDirectory folder_;
  test::DaemonProcess daemon_{OUTLIERD, folder_.path()};
};

TEST_F(FlowDaemon, BytesPacketsAndFlowsOfEveryProtocolArriveExactly) {
  daemon_.networks = networks("[bytes, packets, flows]");
  daemon_.start();
  EpochSeconds time = kStart;
  for (const auto protocol :
       {ExportProtocol::kNetflow5, ExportProtocol::kNetflow9, ExportProtocol::kIpfix}) {
    Router router(1, flow_port(), protocol);
    std::map<std::pair<int, int>, std::array<double, 3>> sums;
    std::vector<FlowRecord> records;
    for (int k = 0; k < 700; ++k) {
      const int from = k % 3, to = k / 3 % 3;
      FlowRecord record = flow(from, to, time * 1000 + 400 * k + 20, std::uint64_t(1000 + 37 * k));
      record.packets = std::uint64_t(1 + k % 11);
      records.push_back(record);
      auto& sum = sums[{from, to}];
      sum[0] += double(record.bytes);
      sum[1] += double(record.packets);
      sum[2] += 1.0;
    }
    router.send(records, (time + 299) * 1000);
    router.send({}, (time + 330) * 1000);  // so far has its clock come
    wait_for_slice(time);
    const std::array names = {"bytes", "packets", "flows"};
    for (std::size_t m = 0; m < 3; ++m) {
      const json matrix = observed(time, names[m]);
      for (const auto& [pair, sum] : sums)
        EXPECT_EQ(matrix[std::size_t(pair.first)][std::size_t(pair.second)], sum[m])
            << names[m] << int(protocol);
    }
    time += 300;
  }
  const json exporters = get("/api/v1/exporters")["items"];
  ASSERT_EQ(exporters.size(), 1u);
  EXPECT_EQ(exporters[0]["exporter"], "127.2.0.1");
  EXPECT_EQ(exporters[0]["records"], 2100);
  EXPECT_EQ(exporters[0]["lost_records"], 0);
  EXPECT_EQ(exporters[0]["nodes"], json::array({"A", "B", "C"}));
  EXPECT_NE(daemon_.get("/metrics")
                .find("outlierd_exporter_records_total{network=\"n\",exporter=\"127.2.0.1\"} 2100"),
            std::string::npos);
  const json before = observed(kStart);
  daemon_.kill();  // a bin that is over is as durable as any part
  daemon_.start();
  wait_for_slice(kStart + 600);
  EXPECT_EQ(observed(kStart), before);
  EXPECT_EQ(daemon_.terminate(), 0);
}

TEST_F(FlowDaemon, WhatASilentExporterWouldHaveSaidIsNotObserved) {
  daemon_.start();
  Router a(1, flow_port(), ExportProtocol::kNetflow9), b(2, flow_port(), ExportProtocol::kIpfix);
  for (int second = 0; second <= 4 * 300 + 40; second += 5) {
    const std::int64_t now = (kStart + second) * 1000;
    const FlowRecord from_a = flow(0, 2, now), from_b = flow(1, 2, now);
    a.send({&from_a, 1}, now);
    if (second < 2 * 300 + 100) b.send({&from_b, 1}, now);
  }
  // The silent one is waited for; then nobody speaks any more and what there is closes.
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(daemon_.terminate(), 0);
  EXPECT_NE(daemon_.log().find("event=exporter_silent"), std::string::npos) << daemon_.log();
  daemon_.start();
  wait_for_slice(kStart + 3 * 300);
  EXPECT_EQ(observed(kStart), json::parse("[[0,0,6000],[0,0,6000],[0,0,0]]"));
  EXPECT_EQ(observed(kStart + 300), json::parse("[[0,0,6000],[0,0,6000],[0,0,0]]"));
  EXPECT_EQ(observed(kStart + 3 * 300), json::parse("[[0,0,6000],[null,null,null],[0,0,0]]"));
}

TEST_F(FlowDaemon, AReloadedFileOfPrefixesCountsFromTheNextRecordOn) {
  const std::string file = (folder_.path() / "prefixes.csv").string();
  std::ofstream(file) << "prefix,node\n10.9.0.0/16,B\n";
  daemon_.networks = networks("[bytes]", "      prefix_file: " + file + "\n");
  daemon_.start();
  Router router(1, flow_port(), ExportProtocol::kNetflow9);
  FlowRecord record = flow(0, 1, kStart * 1000 + 1000);
  record.destination = test::four(10, 9, 1, 1);
  router.send({&record, 1}, (kStart + 1) * 1000);
  std::this_thread::sleep_for(300ms);
  std::ofstream(file) << "10.9.0.0/16,C\n";
  daemon_.signal(SIGHUP);
  for (int look = 0; look < 500 && daemon_.log().find("event=reloaded") == std::string::npos;
       ++look)
    std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(300ms);
  record.end = (kStart + 3) * 1000;
  router.send({&record, 1}, (kStart + 3) * 1000);
  router.send({}, (kStart + 330) * 1000);
  wait_for_slice(kStart);
  EXPECT_EQ(observed(kStart), json::parse("[[0,100,100],[0,0,0],[0,0,0]]"));
  std::ofstream(file) << "10.9.0.0/16,nobody\n";
  daemon_.signal(SIGHUP);
  for (int look = 0; look < 500 && daemon_.log().find("prefixes.csv:1") == std::string::npos;
       ++look)
    std::this_thread::sleep_for(10ms);
  EXPECT_NE(daemon_.log().find("prefixes.csv:1"), std::string::npos);
}

TEST_F(FlowDaemon, LinesOfJsonArePostedAndABadOneIsNamed) {
  daemon_.start();
  test::HttpClient client(daemon_.http_port());
  const auto line = [&](EpochSeconds at, const char* to) {
    return "{\"type\":\"NETFLOW_V9\",\"sampler_address\":\"192.0.2.1\",\"sampling_rate\":10,"
           "\"bytes\":5,\"packets\":1,"
           "\"src_addr\":\"10.0.0.1\",\"dst_addr\":\"" +
           std::string(to) + "\",\"time_received_ns\":" + std::to_string(at) +
           "000000000,\"time_flow_start_ns\":" + std::to_string(at) +
           "000000000,"
           "\"time_flow_end_ns\":" +
           std::to_string(at) + "000000000}\n";
  };
  const auto posted = client.ask("POST", "/api/v1/flows", "Content-Type: application/x-ndjson\r\n",
                                 line(kStart + 10, "10.0.1.1") + line(kStart + 20, "10.0.2.1") +
                                     line(kStart + 330, "10.0.2.1"));
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->status, 202) << posted->body;
  wait_for_slice(kStart);
  EXPECT_EQ(observed(kStart), json::parse("[[0,50,50],[0,0,0],[0,0,0]]"));
  const auto bad = client.ask("POST", "/api/v1/flows", "Content-Type: application/x-ndjson\r\n",
                              "{\"what\":1}\n");
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->status, 422);
  EXPECT_NE(bad->body.find("line 1"), std::string::npos) << bad->body;
}

TEST_F(FlowDaemon, AListenerOfJsonCountsEgressWhereItIsToldTo) {
  const std::string all = networks("[bytes]");
  daemon_.networks =
      "flows: [{listen: 'tcp://127.0.0.1:0', protocol: json, count_egress: true}]\n" +
      all.substr(std::string(kListener).size());
  daemon_.start();
  const auto line = [](EpochSeconds at, int direction) {
    const std::string time = time_text(at).substr(0, 19);
    return R"({"type":"FLOW","first":")" + time + R"(","last":")" + time +
           R"(","in_packets":1,"in_bytes":7,"src4_addr":"10.0.0.1","dst4_addr":"10.0.1.1",)" +
           R"("direction":)" + std::to_string(direction) + R"(,"ip4_router":"192.0.2.1"})" + "\n";
  };
  test::LineClient client = test::LineClient::tcp(flow_port());
  client.send(line(kStart + 10, 0) + line(kStart + 20, 1) + line(kStart + 330, 0));
  client.finish();
  wait_for_slice(kStart);
  EXPECT_EQ(observed(kStart), json::parse("[[0,14,0],[0,0,0],[0,0,0]]"));
}

// Two days to know what is usual, an attack in the last hour; each node a router of its own.
TEST_F(FlowDaemon, AnAttackInAnHourOfNetflowBecomesOneEventOnTheRightNode) {
  const std::string ctl = OUTLIERCTL;
  const std::string map = output_of(ctl + " flows --node-map --nodes 8 --seed 5");
  daemon_.networks = kListener + ("networks:\n  - name: n\n" + indented(map + "lateness: 60s\n"));
  daemon_.start();
  const std::string said =
      output_of(ctl +
                " flows --simulate --protocol netflow9 --nodes 8 --seed 5 --hours 49"
                " --flows 3 --start 2026-03-01T00:00:00Z --rate 60000 --incident ddos@-8"
                " --to udp://127.0.0.1:" +
                std::to_string(flow_port()));
  ASSERT_NE(said.find("records sent"), std::string::npos) << said;
  const EpochSeconds end = *parse_time("2026-03-03T01:00:00Z");
  wait_for_slice(end - 2 * 300);
  const std::size_t mark = said.find('>');
  const std::string target = said.substr(mark + 1, said.find_first_of(",\n", mark) - mark - 1);
  const json events = get("/api/v1/events?from=2026-03-03T00:00:00Z")["items"];
  ASSERT_EQ(events.size(), 1u) << events.dump(1) << said;
  EXPECT_EQ(events[0]["shape"], "ddos");
  EXPECT_EQ(events[0]["destinations"], json::array({target}));
  EXPECT_EQ(events[0]["opened"], time_text(end - 8 * 300));
  const json event = get("/api/v1/events/" + events[0]["id"].get<std::string>());
  ASSERT_TRUE(event.contains("behind")) << event.dump(1);
  EXPECT_EQ(event["behind"]["protocol"][0]["what"], "udp");
  EXPECT_EQ(event["behind"]["source_port"][0]["what"], "53");
  EXPECT_LT(event["behind"]["source_port"][0]["usual"].get<double>(), 0.02);
  EXPECT_EQ(get("/api/v1/exporters")["items"].size(), 8u);
  const std::string metrics = daemon_.get("/metrics");
  EXPECT_NE(metrics.find("outlierd_flow_lost_records_total{network=\"n\"} 0\n"), std::string::npos);
  EXPECT_NE(metrics.find("outlierd_flow_late_records_total{network=\"n\"} 0\n"), std::string::npos);
  EXPECT_EQ(daemon_.terminate(), 0);
  daemon_.start();
  const json again = get("/api/v1/events/" + events[0]["id"].get<std::string>());
  EXPECT_EQ(again["behind"], event["behind"]) << "who was behind it is known after a restart";
}

TEST_F(FlowDaemon, WhatIsWrongWithExportersIsAnOperationalEventAndNoOutage) {
  daemon_.start();
  Router good(1, flow_port(), ExportProtocol::kNetflow9);
  Router strange(2, flow_port(), ExportProtocol::kNetflow9);
  for (int second = 0; second <= 300 + 60; second += 5) {
    const std::int64_t now = (kStart + second) * 1000;
    const FlowRecord mine = flow(0, 2, now);
    FlowRecord other = flow(1, 2, now);
    other.source = test::four(172, 16, 0, 1);  // nobody's
    good.send({&mine, 1}, now);
    strange.send({&other, 1}, now);
  }
  wait_for_slice(kStart);
  const json open = get("/api/v1/operational-events?state=open&network=n")["items"];
  ASSERT_GE(open.size(), 1u) << daemon_.log();
  const auto unmapped = std::find_if(
      open.begin(), open.end(), [](const json& one) { return one["kind"] == "exporter_unmapped"; });
  ASSERT_NE(unmapped, open.end()) << open.dump(1);
  EXPECT_EQ((*unmapped)["exporter"], "127.2.0.2");
  EXPECT_EQ((*unmapped)["closed"], nullptr);
  EXPECT_EQ((*unmapped)["summary"],
            "100% of the bytes of exporter 127.2.0.2 belong to no pair of nodes");
  EXPECT_EQ(get("/api/v1/operational-events?state=open&limit=1")["items"].size(), 1u);
  EXPECT_NE(
      daemon_.get("/metrics")
          .find("outlierd_operational_events_open{network=\"n\",kind=\"exporter_unmapped\"} 1\n"),
      std::string::npos);
  EXPECT_NE(daemon_.log().find("event=exporter_unmapped"), std::string::npos);
  EXPECT_EQ(get("/api/v1/events")["items"].size(), 0u);
}

}  // namespace
}  // namespace outlierd
