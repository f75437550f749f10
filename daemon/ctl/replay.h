#pragma once
// The whole pipeline, or another method, over a traffic file, without a daemon: the same slices
// give the same scores and the same events as the daemon would.
//
// Causal: the row of scores of a bin depends on that bin and earlier ones only. One thread.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "core/baselines/method.h"

namespace outlierd::ctl {

struct ReplayOptions {
  std::string input;  // traffic CSV; "-" is standard input
  // Where to write; empty: not at all.
  std::string scores;    // CSV, its sign is the direction
  std::string expected;  // CSV
  std::string events;  // one JSON object a line, as GET /api/v1/events shows it, when it has closed
  // Without one the nodes and the bin width come from the file.
  std::optional<Network> network;
  int metric = 0;  // of the network, that the file's values are
  PipelineOptions pipeline;
  std::string method{baselines::kOwnMethod};
  // What the network's time zone is ahead of UTC at a time, in seconds.
  std::function<int(EpochSeconds)> local_offset = [](EpochSeconds) { return 0; };
};

struct ReplaySummary {
  std::size_t slices = 0;
  std::size_t events = 0;     // opened
  std::size_t anomalies = 0;  // flagged cells
  double days = 0.0;          // of traffic
  double seconds = 0.0;       // that it took
  bool finds_events = true;
};

tl::expected<ReplaySummary, std::string> run_replay(
    const ReplayOptions& options,
    const std::function<void(double fraction, std::size_t slices)>& on_progress);

// One line, as GET /api/v1/events shows it.
std::string event_json(const Event& event, const Network& network);

}  // namespace outlierd::ctl
