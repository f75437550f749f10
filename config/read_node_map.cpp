#include <algorithm>
#include <set>

#include "config/sections.h"

namespace outlierd::config {
namespace {

// Reads a mapping from keys of one kind to nodes. parse turns a key into what take stores; the
// same key written in two ways counts as one.
template <class Parser, class Take>
void read_keys(MapReader& parent, const std::string& name, Problems& problems,
               const std::vector<std::string>& nodes, Parser parse, Take take) {
  const Node* node = parent.find(name);
  if (!node) return;
  const std::string path = parent.path_of(name);
  const MapReader duplicates_and_kind(*node, path, problems);
  using Key = typename decltype(parse(std::string_view{}))::value_type;
  std::set<Key> seen;
  std::set<std::string_view> written;
  for (const auto& [key, value] : node->entries) {
    if (key->kind != Node::Kind::kText || !written.insert(key->text).second) continue;
    const std::string entry = path + "." + shown(key->text);
    const auto parsed = parse(std::string_view(key->text));
    if (!parsed)
      report(problems, *key, entry, parsed.error());
    else if (!seen.insert(*parsed).second)
      report(problems, *key, entry, "stands twice, the first time written in another way");
    if (value->kind == Node::Kind::kEmpty) {
      report(problems, *key, entry, "needs a node after it");
      continue;
    }
    const auto text = text_in(*value, entry, problems);
    if (!text) continue;
    if (std::find(nodes.begin(), nodes.end(), *text) == nodes.end()) {
      const auto meant = nearest(*text, nodes);
      report(
          problems, *value, entry,
          "no node is called " + shown(*text) + (meant ? " (did you mean " + *meant + "?)" : ""));
    } else if (parsed) {
      take(*parsed, *text);
    }
  }
}

Parsed<IpAddress> parse_address(std::string_view text) {
  const auto address = parse_ip(text);
  if (address) return *address;
  return tl::unexpected(std::string("must be an IP address, such as 203.0.113.1"));
}

using ExporterKey = std::pair<IpAddress, std::optional<std::uint32_t>>;

// "198.51.100.2", or "198.51.100.2/ifindex 7".
Parsed<ExporterKey> parse_exporter(std::string_view text) {
  constexpr std::string_view kInterface = "/ifindex ";
  const auto reason = tl::unexpected(std::string(
      "must be an IP address, or one with its interface, such as \"198.51.100.2/ifindex 7\""));
  const std::size_t slash = text.find('/');
  const auto address = parse_ip(text.substr(0, slash));
  if (!address) return reason;
  if (slash == text.npos) return ExporterKey{*address, std::nullopt};
  text.remove_prefix(slash);
  if (!text.starts_with(kInterface)) return reason;
  const auto index = parse_whole(text.substr(kInterface.size()));
  if (!index || *index < 0 || *index > 0xffffffff) return reason;
  return ExporterKey{*address, std::uint32_t(*index)};
}

Parsed<std::uint32_t> parse_rate(std::string_view text) {
  const auto rate = parse_whole(text);
  if (rate && *rate >= 1 && *rate <= 0xffffffff) return std::uint32_t(*rate);
  return tl::unexpected(
      std::string("must be a whole number from 1 on: one packet in how many is sampled"));
}

Parsed<Sampling> parse_unknown(std::string_view text) {
  if (text == "reject") return Sampling{UnknownSampling::kReject, 0};
  if (text == "last_known") return Sampling{UnknownSampling::kLastKnown, 0};
  if (text.starts_with("assume:")) {
    text.remove_prefix(7);
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (const auto rate = parse_rate(text)) return Sampling{UnknownSampling::kAssume, *rate};
  }
  return tl::unexpected(std::string("must be reject, last_known or {assume: 1000}"));
}

bool read_assume(MapReader& map, Sampling& out) {
  const auto rate = map.value("assume", parse_rate);
  if (rate) out = {UnknownSampling::kAssume, *rate};
  return rate.has_value();
}

}  // namespace

void read_node_map(const Node& node, const std::string& path, Problems& problems,
                   const std::vector<std::string>& nodes, NodeMap& out) {
  MapReader map(node, path, problems);
  read_keys(map, "prefixes", problems, nodes, parse_prefix,
            [&](const Prefix& prefix, const std::string& name) {
              out.prefixes.push_back({prefix, name});
            });
  read_keys(map, "exporters", problems, nodes, parse_exporter,
            [&](const ExporterKey& key, const std::string& name) {
              out.exporters.push_back({key.first, key.second, name});
            });
  read_keys(map, "next_hops", problems, nodes, parse_address,
            [&](const IpAddress& address, const std::string& name) {
              out.next_hops.push_back({address, name});
            });
  map.text("prefix_file", out.prefix_file);
  map.finish();
}

void read_sampling(const Node& node, const std::string& path, Problems& problems, Sampling& out) {
  MapReader map(node, path, problems);
  const Node* unknown = map.find("unknown");
  if (unknown && unknown->kind == Node::Kind::kMap) {
    MapReader inner(*unknown, map.path_of("unknown"), problems);
    read_assume(inner, out);
    inner.finish();
  } else if (const auto parsed = map.value("unknown", parse_unknown)) {
    out = *parsed;
  }
  if (const Node* assume = map.find("assume")) {
    if (unknown)
      map.complain(*assume, "assume",
                   "and unknown exclude each other: write unknown: {assume: 1000}");
    else
      read_assume(map, out);
  }
  map.finish();
}

}  // namespace outlierd::config
