#pragma once
// The flows of a simulated network: each bin of its traffic matrix cut into flow records, each
// router's in the order they end. Node k has the addresses 10.(k / 256).(k % 256).0/24; what an
// incident adds comes from many hosts to one, by UDP from port 53.
//
// Pure and seeded. The records of a bin add up to the simulator's values, byte for byte.

#include <string>
#include <vector>

#include "core/traffic/flow_record.h"
#include "daemon/ctl/incidents.h"
#include "daemon/ctl/simulator.h"

namespace outlierd::ctl {

struct FlowSimulationOptions {
  SimulatorOptions network = {};
  std::vector<Incident> incidents = {};
  int flows_a_pair = 4;             // in a bin
  std::uint32_t sampling_rate = 1;  // one packet in so many; counters are divided by it
};

struct RoutedFlow {
  int router = 0;  // the origin node
  FlowRecord record;
};

class FlowSimulation {
 public:
  explicit FlowSimulation(FlowSimulationOptions options);

  const TrafficColumns& columns() const { return simulator_.columns(); }
  const TrafficLevels& levels() const { return simulator_.levels(); }
  void add(const Incident& incident) { options_.incidents.push_back(incident); }
  // The records of the next bin, sorted by their end; false when there is none.
  bool next(EpochSeconds& time, std::vector<RoutedFlow>& flows);

  static IpAddress host(int node, int number);  // 0 to 255
  // As a configuration's node_map, YAML.
  static std::string node_map(const std::vector<std::string>& nodes);

 private:
  void cut(int origin, int destination, double bytes, bool attack, EpochSeconds time,
           std::vector<RoutedFlow>& flows);

  FlowSimulationOptions options_;
  Simulator simulator_;
  Random random_;
  std::size_t bin_ = 0;
};

}  // namespace outlierd::ctl
