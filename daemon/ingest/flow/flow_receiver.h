#pragma once
// A UDP socket and the thread that reads it: many datagrams a system call, decoded, mapped and
// binned on the spot, without a lock per record. Where few come at a time it lets some gather in
// the kernel's buffer, for no longer than that could fill. Once a second, and whenever a bin
// begins, what has gathered is handed over. Several receivers may share one address (SO_REUSEPORT):
// the kernel keeps an exporter with one of them.
//
// on_harvest runs on the receiver's thread. What else is public may be called from the network
// thread. While too many harvests are not yet taken, reading pauses: the kernel's buffer fills.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/traffic/flow_binner.h"
#include "daemon/ingest/flow/flow_decoder.h"

namespace outlierd::ingest {

struct FlowReceiverOptions {
  std::string host;  // an address
  std::uint16_t port = 0;
  bool shared = false;  // with other receivers of the same address
  bool json = false;    // lines of JSON in the datagrams
  bool count_egress = false;
  std::size_t receive_buffer = 4 << 20;
  std::vector<PrefixValue> exporters;  // who may send; empty: anyone
  FlowBinnerOptions binner = {};
  std::vector<std::vector<std::byte>> decoder_states = {};  // as saved before
};

struct FlowReceiverCounters {  // since the start
  std::uint64_t datagrams = 0, bytes = 0, records = 0, not_allowed = 0, kernel_drops = 0;
  std::uint64_t without_template = 0, templates_refused = 0, ignored = 0;
  std::array<std::uint64_t, kFlowRefusals> refused{};
  std::size_t buffer_requested = 0, buffer_granted = 0;
  std::size_t templates = 0;
  std::uint64_t templates_evicted = 0;

  void add(const FlowReceiverCounters& other);
};

// What a receiver hands over.
struct FlowDelivery {
  FlowHarvest harvest;
  FlowReceiverCounters counters;
  std::vector<std::byte> decoder_state;  // now and then, and with the last
  bool last = false;
};

class FlowReceiver {
 public:
  using OnHarvest = std::function<void(FlowDelivery)>;

  // Throws std::runtime_error saying which address and why. Nothing is read before start().
  FlowReceiver(FlowReceiverOptions options, std::shared_ptr<const NodeMap> map,
               OnHarvest on_harvest);
  ~FlowReceiver();

  void start();
  void use_map(std::shared_ptr<const NodeMap> map);
  void close_through(EpochSeconds time) { closed_through_.store(time); }
  void taken() { --untaken_; }            // a delivery was dealt with
  void stop() { stopping_.store(true); }  // the last delivery comes within a moment
  std::uint16_t port() const { return port_; }

 private:
  struct Buffers;

  void open();
  void run();
  std::size_t read_some();
  void take(const IpAddress& from, std::span<const std::byte> datagram, std::int64_t now);
  void take_lines(const IpAddress& from, std::span<const std::byte> datagram, std::int64_t now);
  void bin(std::int64_t now);
  void deliver(bool last);
  void follow_orders();

  FlowReceiverOptions options_;
  OnHarvest on_harvest_;
  PrefixMap allowed_;
  int socket_ = -1;
  std::chrono::microseconds pause_{0};  // while datagrams gather
  std::uint16_t port_ = 0;
  std::unique_ptr<Buffers> buffers_;
  FlowDecoder decoder_;
  FlowBinner binner_;
  FlowBatch batch_;
  FlowReceiverCounters counters_;

  std::mutex orders_;  // guards new_map_
  std::shared_ptr<const NodeMap> new_map_;
  std::atomic<bool> has_orders_{false}, stopping_{false};
  std::atomic<EpochSeconds> closed_through_{INT64_MIN / 4000};
  std::atomic<int> untaken_{0};
  std::jthread thread_;  // last: ends before the rest goes
};

}  // namespace outlierd::ingest
