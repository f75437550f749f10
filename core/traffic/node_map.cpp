#include "core/traffic/node_map.h"

#include <algorithm>

namespace outlierd {

std::uint32_t NodeMap::ExporterRule::node_at(std::uint32_t interface) const {
  const auto found = std::lower_bound(interfaces.begin(), interfaces.end(),
                                      std::pair{interface, std::uint32_t{0}});
  return found != interfaces.end() && found->first == interface ? found->second : kUnmapped;
}

NodeMap::NodeMap(NodeRules rules)
    : prefixes_(std::move(rules.prefixes)), next_hops_(std::move(rules.next_hops)) {
  for (const NodeRules::Exporter& one : rules.exporters) {
    ExporterRule& rule = exporters_[one.address];
    if (one.interface) {
      rule.interfaces.emplace_back(*one.interface, one.node);
    } else {
      rule.node = one.node;
    }
  }
  for (auto& [address, rule] : exporters_)
    std::sort(rule.interfaces.begin(), rule.interfaces.end());
}

const NodeMap::ExporterRule* NodeMap::rule_of(const IpAddress& exporter) const {
  const auto found = exporters_.find(exporter);
  return found == exporters_.end() ? nullptr : &found->second;
}

void NodeMap::map(std::span<const FlowRecord> records, const ExporterRule* rule,
                  std::uint32_t* origins, std::uint32_t* destinations) const {
  const std::size_t count = records.size();
  bool mediated = false;
  for (const FlowRecord& record : records) mediated |= record.exporter.family != 0;

  std::uint32_t found[PrefixMap::kBatch];
  if (rule && rule->node != kUnmapped && !mediated) {
    std::fill_n(origins, count, rule->node);
    prefixes_.find_all(
        count, [&](std::size_t k) -> const IpAddress& { return records[k].destination; }, found);
    std::copy_n(found, count, destinations);
  } else {  // all at once: the more lookups wait together, the less each waits
    prefixes_.find_all(
        2 * count,
        [&](std::size_t k) -> const IpAddress& {
          return k < count ? records[k].source : records[k - count].destination;
        },
        found);
    std::copy_n(found, count, origins);
    std::copy_n(found + count, count, destinations);
  }

  const bool interfaces = rule && !rule->interfaces.empty();
  const bool hops = !next_hops_.empty();
  if (!interfaces && !hops && !mediated) return;
  for (std::size_t k = 0; k < count; ++k) {
    const FlowRecord& record = records[k];
    const ExporterRule* own = record.exporter.family != 0 ? rule_of(record.exporter) : rule;
    if (own) {
      const std::uint32_t entered = own->node_at(record.input_interface);
      if (entered != kUnmapped) {
        origins[k] = entered;
      } else if (own->node != kUnmapped) {
        origins[k] = own->node;
      }
    }
    std::uint32_t left = kUnmapped;
    if (hops)
      left =
          next_hops_.find(record.bgp_next_hop.family != 0 ? record.bgp_next_hop : record.next_hop);
    if (left == kUnmapped && destinations[k] == kUnmapped && own)
      left = own->node_at(record.output_interface);
    if (left != kUnmapped) destinations[k] = left;
  }
}

std::vector<std::uint32_t> NodeMap::nodes_of(const IpAddress& exporter) const {
  std::vector<std::uint32_t> nodes;
  if (const ExporterRule* rule = rule_of(exporter)) {
    if (rule->node != kUnmapped) nodes.push_back(rule->node);
    for (const auto& [interface, node] : rule->interfaces) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace outlierd
