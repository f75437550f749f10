#pragma once
// Flow records into cells of bins: mapped to nodes, corrected for sampling, spread over the bins
// they lasted through in proportion to time. Only what enters the network counts; what cannot be
// placed is counted by exporter and reason.
//
// One object, one thread (a receiver); harvest() hands over what has gathered, and whoever merges
// harvests decides when a bin is over. Warm, add() allocates only for a new bin or exporter. A
// datagram's records wait for memory together, so that a record costs the same with 12 nodes and
// with 1000. Time is an argument.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/aligned.h"
#include "core/traffic/exporter_clock.h"
#include "core/traffic/node_map.h"
#include "core/traffic/talkers.h"

namespace outlierd {

enum class FlowMetric : std::uint8_t { kBytes, kPackets, kFlows };
enum class UnknownRate : std::uint8_t { kReject, kLastKnown, kAssume };

struct FlowBinnerOptions {
  std::size_t nodes = 0;
  int bin_seconds = 300;
  std::vector<FlowMetric> metrics = {FlowMetric::kBytes};  // in the order of the network's
  UnknownRate unknown_rate = UnknownRate::kReject;
  std::uint32_t assumed_rate = 0;
  std::int64_t early_milliseconds = 300'000;  // further ahead of our clock is a wrong clock
  std::size_t most_bins = 16;                 // of one harvest; what reaches further back is late
  std::size_t most_exporters = 4096;          // of one harvest; the others are one, without address
};

// What the header of a datagram said, and when it came.
struct FlowHeader {
  IpAddress exporter, agent;      // the agent's rules come first where there are some
  std::int64_t received = 0;      // milliseconds since the epoch, our clock
  std::int64_t export_time = -1;  // the same by the exporter's; -1: not given
  std::uint64_t lost_records = 0;
  std::uint64_t found_records = 0;  // that a datagram before had counted as lost
  bool restarted = false;
  bool count_egress = false;  // what leaves it too: for those that call answers egress
};

struct ExporterTally {  // of one exporter since the harvest before
  IpAddress exporter;
  std::uint64_t datagrams = 0, records = 0, lost_records = 0, found_records = 0, restarts = 0;
  double bytes = 0.0;  // binned, corrected
  std::uint64_t egress_records = 0;
  std::uint64_t unmapped_records = 0, unknown_rate_records = 0, late_records = 0, early_records = 0;
  double unmapped_bytes = 0.0, unknown_rate_bytes = 0.0, late_bytes = 0.0, early_bytes = 0.0;
  std::uint32_t sampling_rate = 0;  // the latest known
  std::int64_t received = 0;        // of the latest datagram
  std::int64_t reached = -1;        // as far as its own clock has come; -1: it does not say
  std::int64_t longest_gap = 0;     // milliseconds between its datagrams, our clock
  ExporterClock clock;
  std::vector<double> origin_bytes;     // by node
  std::vector<double> origin_left_out;  // records of unknown rate by node; empty: there were none
};

struct BinTotals {
  EpochSeconds time = 0;
  AlignedDoubles cells;  // as a Slice of the network is laid out
  std::uint64_t records = 0;
};

struct FlowHarvest {
  std::vector<BinTotals> bins;
  std::vector<ExporterTally> exporters;
  std::vector<Talker> talkers;
};

class FlowBinner {
 public:
  FlowBinner(FlowBinnerOptions options, std::shared_ptr<const NodeMap> map);

  void use_map(std::shared_ptr<const NodeMap> map);
  // Bins up to this one are closed: what comes for them is late.
  void close_through(EpochSeconds time) { closed_end_ = (time + options_.bin_seconds) * 1000; }

  void add(const FlowHeader& header, std::span<const FlowRecord> records);

  bool full() const { return bins_.size() >= options_.most_bins; }  // to be harvested now
  bool turned() const { return turned_; }  // a bin was begun since the harvest before
  FlowHarvest harvest();

 private:
  struct Exporter {
    ExporterTally tally;
    IpAddress address, agent;  // of the datagram before: whom the rule is for
    const NodeMap::ExporterRule* rule = nullptr;
  };
  struct Remembered {  // from harvest to harvest
    std::uint32_t rate = 0;
    std::int64_t received = 0;
  };
  struct AddressHash {
    std::size_t operator()(const IpAddress& address) const;
  };

  Exporter& exporter_of(const FlowHeader& header);
  Exporter& begin_exporter(const FlowHeader& header);
  void find_rule(Exporter& exporter) const;
  void add_batch(const FlowHeader& header, Exporter& exporter, std::span<const FlowRecord> records);
  std::uint32_t rate_of(const FlowRecord& record, const ExporterTally& tally) const;
  BinTotals* bin_at(std::int64_t milliseconds);
  void spread(const FlowRecord& record, std::int64_t start, std::int64_t end, std::size_t cell,
              double rate, ExporterTally& tally);
  void put(BinTotals& bin, std::size_t cell, const FlowRecord& record, double weight,
           double flows) const;

  FlowBinnerOptions options_;
  std::int64_t bin_milliseconds_;
  std::shared_ptr<const NodeMap> map_;
  std::vector<std::unique_ptr<BinTotals>> bins_;
  BinTotals* current_ = nullptr;  // where the record before went, and its bounds
  std::int64_t current_begin_ = 0, current_end_ = 0;
  std::int64_t closed_end_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t newest_ = std::numeric_limits<std::int64_t>::min();  // begin of the latest bin ever
  bool turned_ = false;
  std::vector<std::unique_ptr<Exporter>> exporters_;
  std::unordered_map<IpAddress, Exporter*, AddressHash> by_address_;
  Exporter* last_ = nullptr;
  std::unordered_map<IpAddress, Remembered, AddressHash> remembered_;
  TalkerSampler sampler_;
};

}  // namespace outlierd
