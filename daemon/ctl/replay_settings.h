#pragma once
// What a daemon's configuration says of one network, as a replay needs it.

#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "core/pipeline.h"

namespace outlierd::ctl {

struct ReplaySettings {
  Network network;
  int metric = 0;
  PipelineOptions pipeline;
  std::string method;
  std::function<int(EpochSeconds)> local_offset;
};

// An empty name: the only network of the file, the first metric of the network. All that is wrong
// with the file is in the reason, a line each.
tl::expected<ReplaySettings, std::string> replay_settings(const std::string& file,
                                                          const std::string& network,
                                                          const std::string& metric);

}  // namespace outlierd::ctl
