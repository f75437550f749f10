#pragma once
// The networks a decoder may meet, by name, with their nodes and metrics by name.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd::ingest {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

class KnownNetwork {
 public:
  explicit KnownNetwork(Network network) : network_(std::move(network)) {
    for (std::size_t i = 0; i < network_.nodes.size(); ++i)
      index_.emplace(network_.nodes[i], int(i));
  }
  const Network& network() const { return network_; }
  int node(std::string_view name) const { return find(index_, name); }  // -1: unknown
  int metric(std::string_view name) const {
    for (std::size_t m = 0; m < network_.metrics.size(); ++m)
      if (network_.metrics[m] == name) return int(m);
    return -1;
  }

 private:
  using Index = std::unordered_map<std::string, int, StringHash, std::equal_to<>>;
  static int find(const Index& index, std::string_view name) {
    const auto found = index.find(name);
    return found == index.end() ? -1 : found->second;
  }
  Network network_;
  Index index_;
};

using NetworkDirectory = std::map<std::string, KnownNetwork, std::less<>>;

}  // namespace outlierd::ingest
