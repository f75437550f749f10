#include "daemon/flow_rules.h"

#include <algorithm>
#include <unordered_map>

#include "config/prefix_file.h"

namespace outlierd {

IpAddress address_of(const config::IpAddress& address) {
  IpAddress out;
  out.family = address.v6 ? 6 : 4;
  out.bytes = address.bytes;
  return out;
}

std::vector<PrefixValue> allow_list(const std::vector<config::Prefix>& prefixes) {
  std::vector<PrefixValue> out;
  for (const config::Prefix& one : prefixes)
    out.push_back({address_of(one.address), std::uint8_t(one.length), 0});
  return out;
}

FlowBinnerOptions binner_options(const config::NetworkConfig& network) {
  FlowBinnerOptions options;
  options.nodes = network.nodes.size();
  options.bin_seconds = int(network.bin.count());
  options.metrics.clear();
  for (const std::string& metric : network.metrics)
    options.metrics.push_back(metric == "packets" ? FlowMetric::kPackets
                              : metric == "flows" ? FlowMetric::kFlows
                                                  : FlowMetric::kBytes);
  using From = config::UnknownSampling;
  options.unknown_rate = network.sampling.unknown == From::kAssume      ? UnknownRate::kAssume
                         : network.sampling.unknown == From::kLastKnown ? UnknownRate::kLastKnown
                                                                        : UnknownRate::kReject;
  options.assumed_rate = network.sampling.assume;
  options.early_milliseconds = std::int64_t{1000} * std::max(options.bin_seconds, 60);
  return options;
}

tl::expected<std::shared_ptr<const NodeMap>, std::vector<std::string>> node_map_of(
    const config::NetworkConfig& network) {
  std::unordered_map<std::string_view, std::uint32_t> index;
  for (std::size_t k = 0; k < network.nodes.size(); ++k)
    index.emplace(network.nodes[k], std::uint32_t(k));
  const config::NodeMap& from = network.node_map;
  NodeRules rules;
  const auto add = [&](const std::vector<config::PrefixNode>& prefixes) {
    for (const config::PrefixNode& one : prefixes)
      rules.prefixes.push_back(
          {address_of(one.prefix.address), std::uint8_t(one.prefix.length), index.at(one.node)});
  };
  if (!from.prefix_file.empty()) {
    const auto more = config::load_prefix_file(from.prefix_file, network.nodes);
    if (!more) return tl::unexpected(more.error());
    add(*more);
  }
  add(from.prefixes);  // what stands in the configuration itself counts more
  for (const config::ExporterNode& one : from.exporters)
    rules.exporters.push_back({address_of(one.exporter), one.interface, index.at(one.node)});
  for (const config::NextHopNode& one : from.next_hops) {
    const IpAddress hop = address_of(one.next_hop);
    rules.next_hops.push_back({hop, std::uint8_t(hop.family == 6 ? 128 : 32), index.at(one.node)});
  }
  return std::make_shared<const NodeMap>(std::move(rules));
}

}  // namespace outlierd
