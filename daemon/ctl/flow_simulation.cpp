#include "daemon/ctl/flow_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace outlierd::ctl {
namespace {

constexpr std::uint64_t kFlowStream = 0xD1B54A32D192ED03;
constexpr double kMostBytes = 1 << 30;  // of a flow: NetFlow v5 counts to 2^32
constexpr double kPacket = 800.0;
constexpr int kLongest = 60'000;  // milliseconds: the active timeout
constexpr std::array<std::uint16_t, 5> kServices = {443, 443, 80, 53, 8443};

SimulatorOptions without_holes(SimulatorOptions options) {
  options.holes = false;  // a router that sends nothing is another matter
  return options;
}

}  // namespace

FlowSimulation::FlowSimulation(FlowSimulationOptions options)
    : options_(std::move(options)),
      simulator_(without_holes(options_.network)),
      random_(options_.network.seed ^ kFlowStream) {}

IpAddress FlowSimulation::host(int node, int number) {
  IpAddress address;
  address.family = 4;
  address.bytes = {10, std::uint8_t(node / 256), std::uint8_t(node % 256), std::uint8_t(number)};
  return address;
}

std::string FlowSimulation::node_map(const std::vector<std::string>& nodes) {
  std::string text = "node_map:\n  prefixes:\n";
  for (std::size_t k = 0; k < nodes.size(); ++k)
    text += fmt::format("    10.{}.{}.0/24: {}\n", k / 256, k % 256, nodes[k]);
  return text;
}

bool FlowSimulation::next(EpochSeconds& time, std::vector<RoutedFlow>& flows) {
  flows.clear();
  std::vector<double> usual;
  if (simulator_.next(time, usual) == Simulator::Bin::kNoMore) return false;
  std::vector<double> values = usual;
  for (const Incident& incident : options_.incidents) apply(incident, bin_, values);
  ++bin_;
  const auto& pairs = simulator_.columns().pairs;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double attack = std::max(values[k] - usual[k], 0.0);
    cut(pairs[k].origin, pairs[k].destination, std::round(values[k]) - std::round(attack), false,
        time, flows);
    cut(pairs[k].origin, pairs[k].destination, std::round(attack), true, time, flows);
  }
  std::stable_sort(flows.begin(), flows.end(), [](const RoutedFlow& a, const RoutedFlow& b) {
    return a.record.end < b.record.end;
  });
  return true;
}

void FlowSimulation::cut(int origin, int destination, double bytes, bool attack, EpochSeconds time,
                         std::vector<RoutedFlow>& flows) {
  const double rate = options_.sampling_rate;
  bytes = std::round(bytes / rate);
  if (!(bytes >= 1.0)) return;
  const int width = options_.network.bin_seconds * 1000;
  const int count =
      std::max(options_.flows_a_pair * (attack ? 4 : 1), int(std::ceil(bytes / kMostBytes)));
  for (int left = count; left > 0; --left) {
    const double share = left == 1 ? bytes : std::floor(bytes / left * random_.uniform(0.5, 1.5));
    const double part = std::min({share, bytes, 4.0 * kMostBytes - 1.0});
    bytes -= part;
    if (part < 1.0) continue;
    FlowRecord record;
    record.source =
        host(origin, attack ? int(random_.integer(1, 254)) : int(random_.integer(1, 40)));
    record.destination = host(destination, attack ? 7 : int(random_.integer(1, 40)));
    record.protocol = attack ? 17 : 6;
    record.source_port = attack ? 53 : std::uint16_t(random_.integer(32768, 60999));
    record.destination_port = attack ? std::uint16_t(random_.integer(1024, 65535))
                                     : kServices[random_.index(kServices.size())];
    record.bytes = std::uint64_t(part);
    record.packets = std::uint64_t(std::ceil(part / kPacket));
    record.source_as = std::uint32_t(64500 + origin % 20);
    record.destination_as = std::uint32_t(64500 + destination % 20);
    record.input_interface = 1;
    record.output_interface = 2;
    record.sampling_rate = options_.sampling_rate;
    const std::int64_t end = random_.integer(0, width - 1);
    const std::int64_t lasted = random_.integer(0, std::min<std::int64_t>(end, kLongest));
    record.end = time * 1000 + end;
    record.start = record.end - lasted;
    flows.push_back({origin, record});
  }
}

}  // namespace outlierd::ctl
