#include <algorithm>
#include <utility>

#include "config/sections.h"

namespace outlierd::config {
namespace {

using std::chrono::milliseconds;

constexpr int kMostConnections = 1'000'000;

void read_tls(MapReader& parent, Problems& problems, Tls& tls) {
  const Node* node = parent.find("tls");
  if (!node) return;
  MapReader map(*node, parent.path_of("tls"), problems);
  map.text("certificate_file", tls.certificate_file);
  map.text("key_file", tls.key_file);
  if (!map.find("certificate_file") && map.find("key_file"))
    map.complain_missing("certificate_file", "is needed beside key_file");
  if (!map.find("key_file") && map.find("certificate_file"))
    map.complain_missing("key_file", "is needed beside certificate_file");
  map.finish();
}

// The same for HTTP and matrices: beyond loopback somebody must have said who may come.
void check_reach(MapReader& map, const Endpoint& listen, const std::string& tokens_file,
                 bool allow_anonymous) {
  const Node* node = map.find("listen");
  if (!node || is_local(listen) || !tokens_file.empty() || allow_anonymous) return;
  map.complain(*node, "listen",
               "is reachable from other machines without a token: set tokens_file, or write "
               "allow_anonymous: true to let anyone in");
}

void note_listener(MapReader& map, const Endpoint& listen, std::vector<Bound>& bound) {
  if (const Node* node = map.find("listen")) bound.push_back({listen, node, map.path_of("listen")});
}

bool collide(const Endpoint& one, const Endpoint& other) {
  const bool is_unix = one.transport == Transport::kUnix;
  if (is_unix || other.transport == Transport::kUnix) return one == other;
  const bool udp = one.transport == Transport::kUdp;
  if (udp != (other.transport == Transport::kUdp) || one.port != other.port || one.port == 0)
    return false;
  const auto a = parse_ip(one.host), b = parse_ip(other.host);
  if (!a || !b || a->v6 != b->v6) return false;
  return *a == *b || is_any(*a) || is_any(*b);
}

void check_matrix_tls(MapReader& map, const MatrixListener& listener) {
  const Node* tls = map.find("tls");
  const Node* listen = map.find("listen");
  if (!listen) return;
  const bool any = !listener.tls.certificate_file.empty() || !listener.tls.key_file.empty();
  if (listener.listen.transport == Transport::kTls && !any)
    map.complain(*listen, "listen",
                 "needs tls: {certificate_file: FILE, key_file: FILE} beside it");
  if (listener.listen.transport != Transport::kTls && any)
    map.complain(*tls, "tls", "is only for tls:// listeners");
}

void check_flow_transport(MapReader& map, const FlowListener& flow) {
  const Node* listen = map.find("listen");
  if (!listen) return;
  if (flow.protocol != FlowProtocol::kJson && flow.listen.transport != Transport::kUdp)
    map.complain(*listen, "listen",
                 std::string("must be udp://HOST:PORT for ") + name_in(kProtocols, flow.protocol));
  if (flow.exporters.empty() && !map.find("exporters") && !is_local(flow.listen))
    map.complain(*listen, "listen",
                 "is reachable from other machines: name who may send, such as exporters: "
                 "[192.0.2.0/24]");
}

void read_exporters(MapReader& map, Problems& problems, FlowListener& flow) {
  const bool given = map.list("exporters", [&](const Node& item, const std::string& item_path) {
    const auto text = text_in(item, item_path, problems);
    if (!text) return;
    const auto prefix = parse_prefix(*text);
    if (!prefix) return report(problems, item, item_path, prefix.error());
    flow.exporters.push_back(*prefix);
  });
  const Node* list = map.find("exporters");
  if (given && list->items.empty() && !is_local(flow.listen))
    map.complain(*list, "exporters",
                 "must name at least one prefix for a listener that other machines reach");
}

void read_flow_network(MapReader& map, const std::vector<NetworkConfig>& networks,
                       FlowListener& flow) {
  if (!map.find("network")) {
    if (networks.size() == 1)
      flow.network = networks.front().name;
    else
      map.complain_missing("network", "is needed: the network that these flows belong to");
    return;
  }
  map.text("network", flow.network);
  std::vector<std::string> names;
  names.reserve(networks.size());
  for (const NetworkConfig& network : networks) names.push_back(network.name);
  if (flow.network.empty() || std::find(names.begin(), names.end(), flow.network) != names.end())
    return;
  const auto meant = nearest(flow.network, names);
  map.complain(*map.find("network"), "network",
               "no network is called " + shown(flow.network) +
                   (meant ? " (did you mean " + *meant + "?)" : ""));
}

}  // namespace

void read_http(const Node& node, Problems& problems, Http& http, std::vector<Bound>& bound) {
  MapReader map(node, "http", problems);
  const auto listen = map.value("listen", parse_host_port);
  if (listen) http.listen = *listen;
  read_tls(map, problems, http.tls);
  map.text("tokens_file", http.tokens_file);
  map.boolean("allow_anonymous", http.allow_anonymous);
  map.whole("max_connections", http.max_connections, 1, kMostConnections);
  map.size("max_body", http.max_body, kKiB, 4 * kGiB);
  map.duration("request_timeout", http.request_timeout, milliseconds(100), std::chrono::hours(1));
  map.finish();
  if (listen) check_reach(map, http.listen, http.tokens_file, http.allow_anonymous);
  if (listen || !map.find("listen"))
    bound.push_back({http.listen, listen ? map.find("listen") : nullptr, "http.listen"});
}

MatrixListener read_matrices(const Node& node, const std::string& path, Problems& problems,
                             std::vector<Bound>& bound) {
  MatrixListener listener;
  MapReader map(node, path, problems);
  const auto listen = map.value("listen", [](std::string_view text) {
    return parse_listener(text, {Transport::kTcp, Transport::kTls, Transport::kUnix});
  });
  if (listen) listener.listen = *listen;
  if (node.kind == Node::Kind::kMap && !map.find("listen"))
    map.complain_missing("listen", "is needed, such as tcp://127.0.0.1:9470");
  read_tls(map, problems, listener.tls);
  map.text("tokens_file", listener.tokens_file);
  map.boolean("allow_anonymous", listener.allow_anonymous);
  map.whole("max_connections", listener.max_connections, 1, kMostConnections);
  map.size("max_line", listener.max_line, kKiB, 4 * kGiB);
  map.finish();
  if (listen) {
    check_matrix_tls(map, listener);
    check_reach(map, listener.listen, listener.tokens_file, listener.allow_anonymous);
    note_listener(map, listener.listen, bound);
  }
  return listener;
}

FlowListener read_flows(const Node& node, const std::string& path, Problems& problems,
                        const std::vector<NetworkConfig>& networks, std::vector<Bound>& bound) {
  FlowListener flow;
  MapReader map(node, path, problems);
  if (node.kind != Node::Kind::kMap) return flow;
  const auto listen = map.value("listen", [](std::string_view text) {
    return parse_listener(text, {Transport::kUdp, Transport::kTcp, Transport::kUnix});
  });
  if (listen) flow.listen = *listen;
  if (!map.find("listen"))
    map.complain_missing("listen", "is needed, such as udp://127.0.0.1:2055");
  const bool protocol = map.choice("protocol", flow.protocol, kProtocols);
  if (!map.find("protocol")) map.complain_missing("protocol", "is needed: netflow, sflow or json");
  map.size("receive_buffer", flow.receive_buffer, 64 * kKiB, kGiB);
  map.whole("receivers", flow.receivers, 1, 64);
  map.boolean("count_egress", flow.count_egress);
  read_exporters(map, problems, flow);
  read_flow_network(map, networks, flow);
  map.finish();
  if (listen && protocol) check_flow_transport(map, flow);
  if (listen) note_listener(map, flow.listen, bound);
  return flow;
}

void check_bound(const std::vector<Bound>& bound, Problems& problems) {
  for (std::size_t k = 1; k < bound.size(); ++k) {
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      const Bound *here = &bound[k], *other = &bound[earlier];
      if (!collide(here->endpoint, other->endpoint)) continue;
      if (!here->node) std::swap(here, other);
      if (!here->node) continue;
      report(problems, *here->node, here->path,
             "is already taken by " + other->path +
                 (other->node ? " in line " + std::to_string(other->node->line)
                              : ", which is " + text_of(other->endpoint) + " by default"));
      break;
    }
  }
}

}  // namespace outlierd::config
