#pragma once
// scale -> factorize -> score -> track: from a slice to a report. The only place that orders them.
//
// One object a network, one thread at a time. Same slices and options, same reports, bit for bit;
// causal: a report depends on that slice and earlier ones only. Reads no clock.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/detect/parts.h"
#include "core/detect/report.h"
#include "core/model/options.h"
#include "core/traffic/network.h"

namespace outlierd {

struct DetectionOptions {
  double false_alarms_per_day = 1.0;  // per network: the budget that thresholds are calibrated to
  double minimum_share = 0.01;        // an excess below this share of the traffic counts less
  int close_after_slices = 3;         // quiet slices before an event closes
  detect::PartsLeftOut without = {};  // for ablations
};

struct PipelineOptions {
  // Its window is a day, in so many means. Few components: with ten of them the model of a small
  // network learns an incident of hours as normal.
  model::FactorizerOptions model = {.max_rank = 4};
  DetectionOptions detection;
};

class Pipeline {
 public:
  Pipeline(Network network, PipelineOptions options);
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;

  // Slices come in order of time; bins left out in between were not observed. local_offset is what
  // the network's time zone is ahead of UTC at that bin, in seconds, for the daily and weekly
  // profile. A slice of another shape, or at or before the last one, is a logic error.
  SliceReport process(const Slice& slice, EpochSeconds time, int local_offset = 0);

  const Network& network() const;
  const PipelineOptions& options() const;
  EpochSeconds last_time() const;  // of the last slice; the smallest number before the first
  std::vector<Event> open_events() const;
  std::vector<Event> pending_events() const;
  double evidence_bound();  // M9 of the window as it stands; costs a pass over the window

  // The complete state, as the factorizer's: versioned, checksummed, little-endian.
  std::vector<std::byte> save() const;
  // For this network and these options. The nodes (and metrics) may be others than when it was
  // saved: those that are in both keep what was learned of them, by name; new ones begin with
  // nothing; those gone are forgotten. With the same network it goes on bit for bit.
  static tl::expected<Pipeline, std::string> restore(std::span<const std::byte> bytes,
                                                     Network network, PipelineOptions options);

 private:
  class State;
  explicit Pipeline(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace outlierd
