#pragma once
// Which node a flow enters at and which it leaves at. In this order:
//
//   origin       the exporter's input interface, the exporter, the source address's longest prefix
//   destination  the BGP next hop (without one: the IP next hop), the destination address's longest
//                prefix, the exporter's output interface
//
// An exporter named without an interface says where traffic enters, not where it leaves. Immutable:
// threads share one and a reload puts another in its place.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/traffic/flow_record.h"
#include "core/traffic/prefix_map.h"

namespace outlierd {

struct NodeRules {  // nodes are indices into the network's
  struct Exporter {
    IpAddress address;
    std::optional<std::uint32_t> interface;  // none: all of them
    std::uint32_t node = 0;
  };
  std::vector<PrefixValue> prefixes;
  std::vector<Exporter> exporters;
  std::vector<PrefixValue> next_hops;
};

class NodeMap {
 public:
  static constexpr std::uint32_t kUnmapped = PrefixMap::kNone;
  static constexpr std::size_t kBatch = PrefixMap::kBatch / 2;  // two addresses a record

  struct ExporterRule {
    std::uint32_t node = kUnmapped;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> interfaces;  // sorted: index, node

    std::uint32_t node_at(std::uint32_t interface) const;  // of that interface alone
  };

  NodeMap() = default;
  explicit NodeMap(NodeRules rules);

  const ExporterRule* rule_of(const IpAddress& exporter) const;  // null: there is none

  // At most kBatch records of one exporter, unless a record names another itself.
  void map(std::span<const FlowRecord> records, const ExporterRule* rule, std::uint32_t* origins,
           std::uint32_t* destinations) const;

  // Nodes that the configuration says this exporter feeds.
  std::vector<std::uint32_t> nodes_of(const IpAddress& exporter) const;
  const std::map<IpAddress, ExporterRule>& exporters() const { return exporters_; }
  std::size_t bytes() const { return prefixes_.bytes() + next_hops_.bytes(); }

 private:
  PrefixMap prefixes_, next_hops_;
  std::map<IpAddress, ExporterRule> exporters_;
};

}  // namespace outlierd
