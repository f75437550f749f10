#pragma once
// One method over one stretch of traffic, in memory: what it scored and which events it opened.

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/baselines/method.h"
#include "core/evaluate/score.h"
#include "daemon/ctl/traffic_table.h"

namespace outlierd::ctl {

struct MethodRun {
  evaluate::Magnitudes scores;  // in the columns of the table
  bool finds_events = false;
  std::vector<Event> events;  // as they were when they closed, or at the end
  double seconds = 0.0;       // of one core
};

Network network_of(const TrafficTable& table);
double thread_seconds();  // of processor time of this thread

tl::expected<MethodRun, std::string> run_method(const std::string& name, const TrafficTable& table,
                                                const baselines::MethodOptions& options);

}  // namespace outlierd::ctl
