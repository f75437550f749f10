// outlierctl flows: NetFlow, IPFIX or sFlow of a simulated network, sent to a port.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include "daemon/ctl/command.h"
#include "daemon/ctl/flow_encoder.h"
#include "daemon/ctl/flow_simulation.h"
#include "daemon/ctl/incident_text.h"
#include "daemon/ctl/progress.h"

namespace outlierd::ctl {
namespace {

constexpr std::int64_t kHold = 10'000;  // milliseconds of flow time before a datagram leaves
constexpr std::int64_t kUptime = 86'400'000;

// One router: its socket, its encoder, what waits to be sent.
class Router {
 public:
  Router(int node, ExportProtocol protocol, std::int64_t booted, const sockaddr_storage& to,
         socklen_t size, bool own_address)
      : most_(FlowEncoder::most_records(protocol)),
        encoder_(protocol, booted, std::uint32_t(node), FlowSimulation::host(node, 254)) {
    socket_ = ::socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (own_address) {  // on loopback each router has one: 127.1.0.0 and on
      sockaddr_in from{};
      from.sin_family = AF_INET;
      from.sin_addr.s_addr = htonl(0x7f010000u + std::uint32_t(node) + 1);
      (void)::bind(socket_, reinterpret_cast<sockaddr*>(&from), sizeof from);
    }
    failed_ = socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), size) != 0;
  }
  ~Router() {
    if (socket_ >= 0) ::close(socket_);
  }
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  bool failed() const { return failed_; }
  bool add(const FlowRecord& record) {
    waiting_.push_back(record);
    return waiting_.size() < most_ || send(record.end);
  }
  bool due(std::int64_t time) const {
    return !waiting_.empty() && time - waiting_.front().end > kHold;
  }
  bool send(std::int64_t time) {
    const auto datagram = encoder_.encode(waiting_, time);
    waiting_.clear();
    while (::send(socket_, datagram.data(), datagram.size(), 0) < 0) {
      if (errno == ECONNREFUSED || errno == EINTR) continue;  // of the one before: nobody listens
      if (errno != ENOBUFS && errno != EAGAIN) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  int socket_ = -1;
  bool failed_ = false;
  std::size_t most_;
  FlowEncoder encoder_;
  std::vector<FlowRecord> waiting_;
};

class Flows : public Command {
 public:
  std::string_view name() const override { return "flows"; }

  void describe(Arguments& arguments) override {
    arguments.about("Send NetFlow, IPFIX or sFlow of a simulated network to a port",
                    "Each node is a router that exports what enters at it; to a loopback address "
                    "each sends from its own, 127.1.0.1 and on.\nThe flows carry the simulated "
                    "time, whatever the speed (sFlow has no times).");
    arguments.flag("--simulate", simulate_, "Of a simulated network (there is no other source)");
    arguments.option("--protocol", "", protocol_, "What to send")
        .one_of({"netflow5", "netflow9", "ipfix", "sflow", "v5", "v9"});
    arguments.option("--to", "udp://HOST:PORT", to_, "Where to");
    arguments.option("--rate", "RECORDS", rate_, "Records a second at most; 0: as fast as it goes")
        .between(0, 1e9);
    arguments.option("--nodes", "N", options_.network.nodes, "Nodes of the network")
        .between(2, 5000);
    arguments.option("--hours", "HOURS", hours_, "How much simulated time").between(0.001, 100000);
    arguments.duration("--bin", options_.network.bin_seconds, "Bin width");
    arguments.option("--seed", "SEED", options_.network.seed, "Another seed, another network");
    arguments.time("--start", start_, "First bin (default: so that the last full bin is the last)");
    arguments.option("--flows", "N", options_.flows_a_pair, "Records of a pair of nodes in a bin")
        .between(1, 100000);
    arguments.option("--sampling", "N", sampling_, "One packet in so many").between(1, 16383);
    arguments.option(
        "--incident", "KIND@BIN", incidents_,
        "Put in this incident, a tenth of the network's traffic; BIN counts from 0, or "
        "back from the end with -; may be repeated");
    arguments.flag("--node-map", node_map_,
                   "Print the nodes and the node_map that a configuration needs, and send nothing");
    arguments.example("outlierctl flows --node-map", "what to put into the configuration");
    arguments.example(
        "outlierctl flows --simulate --protocol netflow9 --to udp://127.0.0.1:2055 "
        "--hours 48 --incident ddos@-20",
        "two days of NetFlow v9 with an attack near the end");
  }

  int run(Session& session) override {
    options_.network.bins =
        std::size_t(std::max(1.0, std::round(hours_ * 3600.0 / options_.network.bin_seconds)));
    options_.sampling_rate = std::uint32_t(sampling_);
    const EpochSeconds width = options_.network.bin_seconds;
    options_.network.start =
        start_.value_or(session.now() - EpochSeconds(options_.network.bins) * width);
    options_.network.start -= ((options_.network.start % width) + width) % width;
    FlowSimulation simulation(options_);
    if (node_map_) return print_map(session, simulation.columns().nodes);
    Random random(options_.network.seed ^ 0x9E3779B97F4A7C15);
    IncidentPlanner planner(simulation.columns(), simulation.levels(),
                            {.bins = options_.network.bins, .bin_seconds = int(width)}, random);
    for (const std::string& text : incidents_) {
      auto incident = chosen_incident(text, options_.network.bins, planner, kChosenShare);
      if (!incident) return session.fail(incident.error(), kBadUsage);
      session.error << fmt::format("{}: {}\n", text, describe(*incident, simulation.columns()));
      simulation.add(*incident);
    }
    return send(session, simulation);
  }

 private:
  static int print_map(Session& session, const std::vector<std::string>& nodes) {
    session.out << "nodes: [" << fmt::format("{}", fmt::join(nodes, ", ")) << "]\n"
                << FlowSimulation::node_map(nodes);
    return kOk;
  }

  static std::string describe(const Incident& incident, const TrafficColumns& columns) {
    std::string text;
    for (const std::size_t column : incident.columns)
      text += (text.empty() ? "" : ", ") + columns.names[column];
    return text;
  }

  std::string resolve(sockaddr_storage& to, socklen_t& size) const {
    std::string_view text = to_;
    if (text.starts_with("udp://")) text.remove_prefix(6);
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return "--to must be udp://HOST:PORT";
    std::string host(text.substr(0, colon));
    const std::string port(text.substr(colon + 1));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
      return to_ + ": " + gai_strerror(error);
    std::memcpy(&to, found->ai_addr, found->ai_addrlen);
    size = found->ai_addrlen;
    freeaddrinfo(found);
    return {};
  }

  int send(Session& session, FlowSimulation& simulation) {
    sockaddr_storage to{};
    socklen_t size = 0;
    if (const std::string problem = resolve(to, size); !problem.empty())
      return session.fail(problem, kBadUsage);
    const bool loopback =
        to.ss_family == AF_INET &&
        ntohl(reinterpret_cast<const sockaddr_in&>(to).sin_addr.s_addr) >> 24 == 127;
    const auto protocol = protocol_named(protocol_).value_or(ExportProtocol::kNetflow9);
    std::vector<std::unique_ptr<Router>> routers;
    for (int node = 0; node < options_.network.nodes; ++node) {
      routers.push_back(std::make_unique<Router>(
          node, protocol, options_.network.start * 1000 - kUptime, to, size, loopback));
      if (routers.back()->failed()) return session.fail("cannot send to " + to_);
    }
    Progress progress(session.error, session.terminal, "records");
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t sent = 0;
    EpochSeconds time = 0;
    std::vector<RoutedFlow> flows;
    for (std::size_t bin = 0; simulation.next(time, flows); ++bin) {
      for (const RoutedFlow& flow : flows) {
        if (!routers[std::size_t(flow.router)]->add(flow.record)) return broken(session);
        if (++sent % 256 == 0) {
          for (auto& router : routers)
            if (router->due(flow.record.end) && !router->send(flow.record.end))
              return broken(session);
          pace(begun, sent);
        }
      }
      // Every router speaks at the end of a bin, if only to say how late it is.
      const std::int64_t end = (time + options_.network.bin_seconds) * 1000 - 1;
      for (auto& router : routers)
        if (!router->send(end)) return broken(session);
      progress.update(double(bin + 1) / double(options_.network.bins), double(sent));
    }
    session.error << fmt::format("{} records sent\n", sent);
    return kOk;
  }

  int broken(Session& session) const {
    return session.fail("cannot send to " + to_ + ": " + std::strerror(errno));
  }

  void pace(std::chrono::steady_clock::time_point begun, std::uint64_t sent) const {
    if (rate_ <= 0.0) return;
    std::this_thread::sleep_until(begun +
                                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                      std::chrono::duration<double>(double(sent) / rate_)));
  }

  FlowSimulationOptions options_;
  std::string protocol_ = "netflow9", to_ = "udp://127.0.0.1:2055";
  double rate_ = 100'000.0, hours_ = 1.0;
  int sampling_ = 1;
  bool simulate_ = false, node_map_ = false;
  std::optional<EpochSeconds> start_;
  std::vector<std::string> incidents_;
};

}  // namespace

std::unique_ptr<Command> make_flows() { return std::make_unique<Flows>(); }

}  // namespace outlierd::ctl
