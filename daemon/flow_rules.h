#pragma once
// From the configuration's words about flows to core's: node maps with their files of prefixes,
// allow-lists, what to do about unknown sampling.

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/schema.h"
#include "core/traffic/flow_binner.h"

namespace outlierd {

IpAddress address_of(const config::IpAddress& address);
std::vector<PrefixValue> allow_list(const std::vector<config::Prefix>& prefixes);
FlowBinnerOptions binner_options(const config::NetworkConfig& network);
// Or what is wrong, with file and line. Reads node_map.prefix_file where there is one.
tl::expected<std::shared_ptr<const NodeMap>, std::vector<std::string>> node_map_of(
    const config::NetworkConfig& network);

}  // namespace outlierd
