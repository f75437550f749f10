#pragma once
// The traffic of a network one believes, bin by bin: gravity between nodes of lognormal mass; a day
// and a week with each node's own phase; noise that remembers (network, node and pair); bursts with
// a heavy tail; bursts on a timetable; cells, exporters and whole bins that went unmeasured.
//
// Values are bytes in a bin, whole numbers. Pure and seeded: same options, same rows, everywhere.
// The week begins where the calendar's does (UTC). Memory: a few numbers a pair.

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ctl/incidents.h"
#include "daemon/ctl/random.h"
#include "daemon/ctl/traffic_csv.h"

namespace outlierd::ctl {

struct SimulatorOptions {
  int nodes = 12;
  std::vector<std::string> names = {};  // of the nodes; empty: made up
  std::size_t bins = 2016;
  int bin_seconds = 300;
  std::uint64_t seed = 1;
  EpochSeconds start = 0;  // a multiple of the bin width
  bool holes = true;
  double megabits_a_node = 200.0;  // what a node sends on average
};

class Simulator {
 public:
  explicit Simulator(SimulatorOptions options);

  const TrafficColumns& columns() const { return columns_; }
  const TrafficLevels& levels() const { return levels_; }  // as built in, not measured

  enum class Bin { kMeasured, kLeftOut, kNoMore };  // left out: no row in the file
  // values: one a column, NaN = not observed. The values of a bin left out mean nothing.
  Bin next(EpochSeconds& time, std::vector<double>& values);

 private:
  struct Node {
    double sends = 1.0, receives = 1.0;  // mass
    double peak_hour = 14.0;             // UTC
    double depth = 0.4;                  // of the daily cycle
    double weekend = 0.7;                // Saturday and Sunday
    double noise = 0.0;                  // remembered
    std::size_t unseen_until = 0;        // its exporter is away until this bin
  };
  struct PairState {
    double level = 0.0;  // bytes a bin, averaged over a week
    double noise = 0.0, noise_sigma = 0.1;
    double burst = 0.0;  // bytes, on top
    int burst_bins = 0;  // left
    // On a timetable: every period bins, for some bins, from an offset; amount 0 = none.
    std::size_t period = 0, offset = 0, length = 0;
    double amount = 0.0;
  };

  void make_nodes();
  void make_pairs();
  void make_timetables();
  double activity(const Node& node, EpochSeconds time) const;
  double pair_value(PairState& pair, double activity);
  void make_holes(std::vector<double>& values);
  std::size_t bins_of(double hours) const;

  SimulatorOptions options_;
  Random random_;
  TrafficColumns columns_;
  TrafficLevels levels_;
  std::vector<Node> nodes_;
  std::vector<PairState> pairs_;  // one a column
  double network_noise_ = 0.0;
  std::size_t bin_ = 0;
  std::size_t dark_until_ = 0;  // nothing is measured until this bin
  bool dark_rows_left_out_ = false;
};

}  // namespace outlierd::ctl
