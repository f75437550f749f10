#pragma once
// Each section of the file, from its node to its struct. Problems are added to the list; what is
// wrong leaves its field at the default.

#include <string>
#include <vector>

#include "config/map_reader.h"
#include "config/schema.h"

namespace outlierd::config {

// Where a listener was written, to find two that want the same port; no node: it is the default.
struct Bound {
  Endpoint endpoint;
  const Node* node;
  std::string path;
};

void read_http(const Node& node, Problems& problems, Http& http, std::vector<Bound>& bound);
MatrixListener read_matrices(const Node& node, const std::string& path, Problems& problems,
                             std::vector<Bound>& bound);
FlowListener read_flows(const Node& node, const std::string& path, Problems& problems,
                        const std::vector<NetworkConfig>& networks, std::vector<Bound>& bound);
void check_bound(const std::vector<Bound>& bound, Problems& problems);

NetworkConfig read_network(const Node& node, const std::string& path, Problems& problems);
void read_node_map(const Node& node, const std::string& path, Problems& problems,
                   const std::vector<std::string>& nodes, NodeMap& map);
void read_sampling(const Node& node, const std::string& path, Problems& problems, Sampling& out);

Notifier read_notifier(const Node& node, const std::string& path, Problems& problems);

}  // namespace outlierd::config
