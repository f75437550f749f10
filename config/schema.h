#pragma once
// The configuration as checked values. Each default stands beside its field, or in core where the
// setting is core's own. What load.h returns keeps every rule of docs/configuration.md, so nobody
// checks again.
//
// Plain values; an empty *_file means not set.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/address.h"
#include "core/baselines/method.h"
#include "core/pipeline.h"
#include "core/traffic/network.h"

namespace outlierd::config {

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

struct Tls {
  std::string certificate_file, key_file;  // both or neither

  bool enabled() const { return !certificate_file.empty(); }
  bool operator==(const Tls&) const = default;
};

struct Http {
  Endpoint listen{Transport::kTcp, "127.0.0.1", 9471, {}};
  Tls tls;
  std::string tokens_file;
  bool allow_anonymous = false;  // serve beyond loopback without tokens
  int max_connections = 1000;
  std::uint64_t max_body = 64 * kMiB;
  std::chrono::milliseconds request_timeout = std::chrono::seconds(30);

  bool operator==(const Http&) const = default;
};

struct MatrixListener {
  Endpoint listen{Transport::kTcp, "127.0.0.1", 9470, {}};  // tcp, tls or unix
  Tls tls;                                                  // enabled exactly when listen is tls
  std::string tokens_file;
  bool allow_anonymous = false;
  int max_connections = 1000;
  std::uint64_t max_line = 64 * kMiB;

  bool operator==(const MatrixListener&) const = default;
};

enum class FlowProtocol { kNetflow, kSflow, kJson };

struct FlowListener {
  Endpoint listen;  // udp, tcp or unix
  FlowProtocol protocol = FlowProtocol::kNetflow;
  std::uint64_t receive_buffer = 4 * kMiB;
  int receivers = 1;              // threads that share a UDP address
  bool count_egress = false;      // also what an exporter saw leave it
  std::vector<Prefix> exporters;  // who may send; empty: anyone who can reach the listener
  std::string network;            // one that is configured

  bool operator==(const FlowListener&) const = default;
};

struct PrefixNode {
  Prefix prefix;
  std::string node;

  bool operator==(const PrefixNode&) const = default;
};

struct ExporterNode {
  IpAddress exporter;
  std::optional<std::uint32_t> interface;  // of the exporter; none: all of them
  std::string node;

  bool operator==(const ExporterNode&) const = default;
};

struct NextHopNode {
  IpAddress next_hop;
  std::string node;

  bool operator==(const NextHopNode&) const = default;
};

struct NodeMap {  // nodes are names of the network's nodes; no key occurs twice
  std::vector<PrefixNode> prefixes;
  std::vector<ExporterNode> exporters;
  std::vector<NextHopNode> next_hops;
  std::string prefix_file;

  bool operator==(const NodeMap&) const = default;
};

enum class UnknownSampling { kReject, kLastKnown, kAssume };

struct Sampling {
  UnknownSampling unknown = UnknownSampling::kReject;
  std::uint32_t assume = 0;  // one packet in so many; 0 unless unknown is kAssume

  bool operator==(const Sampling&) const = default;
};

struct ModelSettings {
  int max_rank = PipelineOptions{}.model.max_rank;
  int window = PipelineOptions{}.model.window;
  double forgetting = PipelineOptions{}.model.forgetting;

  bool operator==(const ModelSettings&) const = default;
};

struct DetectionSettings {
  double false_alarms_per_day = DetectionOptions{}.false_alarms_per_day;
  double minimum_share = DetectionOptions{}.minimum_share;
  int close_after_slices = DetectionOptions{}.close_after_slices;
  std::string method{baselines::kOwnMethod};

  bool operator==(const DetectionSettings&) const = default;
};

struct NetworkConfig {
  std::string name;
  std::vector<std::string> nodes;  // at least two
  std::chrono::seconds bin{Network{}.bin_seconds};
  std::chrono::seconds lateness{60};
  std::vector<std::string> sources;  // who must report before a bin may close early
  std::string time_zone = "UTC";     // TimeZone::load knows it
  std::vector<std::string> metrics = Network{}.metrics;
  NodeMap node_map;
  Sampling sampling;
  ModelSettings model;
  DetectionSettings detection;

  bool operator==(const NetworkConfig&) const = default;
};

struct Store {
  std::string path = "/var/lib/outlierd";
  std::chrono::seconds keep = std::chrono::hours(30 * 24);  // back from the newest slice
  std::uint64_t max_size = 10 * kGiB;
  std::chrono::milliseconds snapshot_every = std::chrono::seconds(60);

  bool operator==(const Store&) const = default;
};

enum class NotifierKind { kAlertmanager, kWebhook, kSyslog };

struct Notifier {
  NotifierKind kind = NotifierKind::kAlertmanager;
  Url url;                                // of an Alertmanager or a webhook
  std::string token_file, hmac_key_file;  // of a webhook
  Endpoint syslog;                        // udp, tcp or unix; the host may be a name

  bool operator==(const Notifier&) const = default;
};

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct Log {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;

  bool operator==(const Log&) const = default;
};

struct Config {
  Http http;
  std::vector<MatrixListener> matrices = {MatrixListener{}};
  std::vector<FlowListener> flows;
  std::vector<NetworkConfig> networks;  // at least one, names all different
  Store store;
  std::vector<Notifier> notify;
  Log log;

  bool operator==(const Config&) const = default;
};

Network network_of(const NetworkConfig& network);
PipelineOptions pipeline_options_of(const NetworkConfig& network);

// What the quick start runs: the defaults and one network of twelve nodes, "demo".
Config demo_config();

}  // namespace outlierd::config
