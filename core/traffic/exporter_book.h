#pragma once
// What is known of each exporter: how much it sent and lost, how its clock goes, how long it is
// silent as a rule, and which nodes' traffic it reports. From it follows which rows of a bin cannot
// be trusted because somebody who should have spoken did not. Bounded: exporters beyond the limit
// are counted together. One thread; time is an argument, milliseconds since the epoch.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/traffic/flow_binner.h"

namespace outlierd {

struct ExporterFacts {
  IpAddress address;    // family 0: those beyond the limit, together
  ExporterTally total;  // since it was first seen
  std::int64_t first_seen = 0;
  double records_per_second = 0.0;      // of the last minute, about
  std::int64_t usual_gap = 1000;        // between datagrams, by our clock
  int gaps = 0;                         // that it was learned from
  double loss = 0.0, usual_loss = 0.0;  // share of records, in the bin closed last and before
  double unmapped = 0.0, usual_unmapped = 0.0;  // share of bytes that belong to no pair of nodes
  double unknown_rate = 0.0;  // share of records left out because their sampling rate is unknown
  bool silent = false, losing = false, clock_off = false, is_unmapped = false, is_unknown = false;

  // By its own clock: when it was silent last for longer than usual.
  std::int64_t silence_begin = -1, silence_end = -1;
  std::vector<double> weight;     // bytes by origin node: of earlier bins, fading
  std::vector<double> gathering;  // since the bin closed last
  // Origin nodes with records of unknown rate: since then; and before, for what comes after the
  // end of a bin and before its lateness is over belongs to the next.
  std::vector<bool> left_out, left_out_before;
  std::uint64_t bin_records = 0, bin_lost = 0, bin_found = 0, bin_unknown = 0;
  double bin_bytes = 0.0, bin_unmapped = 0.0;
};

// What an exporter may suffer from, each with its end.
enum class ExporterNews {
  kNew,
  kForgotten,
  kSilent,
  kBack,
  kLosing,
  kComplete,
  kClockOff,
  kClockRight,
  kUnmapped,
  kMapped,
  kUnknownRate,
  kKnownRate
};
const char* name_of(ExporterNews news);  // "exporter_silent", ...

struct ExporterNotice {
  ExporterNews news = ExporterNews::kNew;
  IpAddress exporter;
  double figure = 0.0;  // seconds silent or off, share lost, unmapped or left out
};

class ExporterBook {
 public:
  struct Options {
    std::size_t nodes = 0;
    std::size_t most = 10'000;
    std::int64_t lateness = 60'000;  // milliseconds by our clock that are never called silence
    std::int64_t forget_after = 86'400'000;  // milliseconds of silence
  };
  explicit ExporterBook(Options options) : options_(options) {}

  void add(const ExporterTally& tally, std::int64_t now, std::vector<ExporterNotice>& notices);

  // As far as every exporter that speaks has come, by their own clocks; -1: nobody speaks. Who has
  // been silent for longer than `patience` is not waited for.
  std::int64_t reached(std::int64_t now, std::int64_t patience) const;

  // Who has fallen silent by our clock, also where no bin ends because nobody speaks.
  void watch(std::int64_t now, std::vector<ExporterNotice>& notices);

  // Closes the bin [begin, end): which rows lack an exporter that feeds them, or records of it, by
  // node.
  std::vector<bool> close(std::int64_t begin, std::int64_t end, std::int64_t now,
                          std::vector<ExporterNotice>& notices);

  const std::map<IpAddress, ExporterFacts>& exporters() const { return exporters_; }

 private:
  bool quiet(const ExporterFacts& facts, std::int64_t now) const;
  // Whether what it sent in this bin can stand for its rows; tells what has changed.
  bool judge(ExporterFacts& facts, std::int64_t begin, std::int64_t end, std::int64_t now,
             std::vector<ExporterNotice>& notices) const;

  Options options_;
  std::map<IpAddress, ExporterFacts> exporters_;
};

}  // namespace outlierd
