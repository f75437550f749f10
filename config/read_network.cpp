#include <algorithm>
#include <limits>
#include <set>

#include "config/sections.h"
#include "config/time_zone.h"

namespace outlierd::config {
namespace {

constexpr std::size_t kMostNodes = 5000;
const std::vector<std::string> kMetrics = {"bytes", "packets", "flows"};

// A list of texts, each of which passes the parser and stands once. Returns whether a list was
// given that has `least` entries, good or bad.
template <class Parser>
bool read_texts(MapReader& map, const std::string& key, std::size_t least, Problems& problems,
                std::vector<std::string>& out, Parser parse) {
  std::vector<std::string> found;
  std::set<std::string> seen;
  const bool given = map.list(key, [&](const Node& item, const std::string& path) {
    const auto text = text_in(item, path, problems);
    if (!text) return;
    const Parsed<std::string> parsed = parse(*text);
    if (!parsed) return report(problems, item, path, parsed.error());
    if (!seen.insert(*parsed).second)
      return report(problems, item, path, shown(*parsed) + " stands twice in the list");
    found.push_back(*parsed);
  });
  if (!given) return map.find(key) != nullptr;  // of the wrong kind: reported already
  out = std::move(found);
  return map.find(key)->items.size() >= least;
}

Parsed<std::string> parse_metric(std::string_view text) {
  if (std::find(kMetrics.begin(), kMetrics.end(), text) != kMetrics.end()) return std::string(text);
  return tl::unexpected("must be bytes, packets or flows, not " + shown(text));
}

Parsed<std::string> parse_source(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.size() <= 128 && std::none_of(text.begin(), text.end(), control))
    return std::string(text);
  return tl::unexpected(
      std::string("must be a name without control characters, of at most 128 bytes"));
}

void read_nodes(MapReader& map, Problems& problems, std::vector<std::string>& nodes) {
  const bool enough = read_texts(map, "nodes", 2, problems, nodes, parse_name);
  const char* needed = "at least two nodes are needed, such as [ATLA, CHIN]";
  if (!map.find("nodes"))
    map.complain_missing("nodes", needed);
  else if (!enough)
    map.complain(*map.find("nodes"), "nodes", needed);
  if (nodes.size() > kMostNodes)
    map.complain(*map.find("nodes"), "nodes",
                 "at most " + std::to_string(kMostNodes) + " nodes are possible");
}

void read_bin(MapReader& map, std::chrono::seconds& bin) {
  std::chrono::seconds read = bin;
  map.duration("bin", read, std::chrono::seconds(10), std::chrono::hours(1));
  if (std::chrono::hours(24) % read == std::chrono::seconds(0))
    bin = read;
  else
    map.complain(*map.find("bin"), "bin",
                 "must divide a day evenly, such as 1m, 5m, 10m, 15m or 1h");
}

void read_time_zone(MapReader& map, std::string& time_zone) {
  const auto known = [](std::string_view text) -> Parsed<std::string> {
    const auto loaded = TimeZone::load(text);
    if (!loaded) return tl::unexpected(loaded.error());
    return std::string(text);
  };
  if (const auto name = map.value("time_zone", known)) time_zone = *name;
}

Parsed<int> parse_whole_int(std::string_view text) {
  const auto number = parse_whole(text);
  if (!number) return tl::unexpected(number.error());
  using Limits = std::numeric_limits<int>;
  return int(std::clamp<std::int64_t>(*number, Limits::min(), Limits::max()));
}

// What core says of a setting stands with that setting; core alone knows the range.
void check_model(const MapReader& map, const Node* node, const std::string& key,
                 const model::FactorizerOptions& options) {
  const std::string problem = options.problem();
  if (!node || problem.empty()) return;
  map.complain(*node, key,
               problem.starts_with(key + " ") ? problem.substr(key.size() + 1) : problem);
}

void read_model(MapReader& parent, Problems& problems, ModelSettings& out) {
  const Node* node = parent.find("model");
  if (!node) return;
  MapReader map(*node, parent.path_of("model"), problems);
  const auto whole = [&](const char* key) { return map.value(key, parse_whole_int); };
  model::FactorizerOptions rank, window, forgetting;
  rank.max_rank = whole("max_rank").value_or(out.max_rank);
  check_model(map, map.find("max_rank"), "max_rank", rank);
  window.window = whole("window").value_or(out.window);
  check_model(map, map.find("window"), "window", window);
  forgetting.forgetting = map.value("forgetting", parse_real).value_or(out.forgetting);
  check_model(map, map.find("forgetting"), "forgetting", forgetting);
  map.finish();
  out = {rank.max_rank, window.window, forgetting.forgetting};
}

tl::expected<std::string, std::string> parse_method(std::string_view text) {
  const std::vector<std::string> known = baselines::method_names();
  if (std::find(known.begin(), known.end(), text) != known.end()) return std::string(text);
  const auto meant = nearest(text, known);
  return tl::unexpected("must be a method that outlierctl replay --help lists" +
                        (meant ? " (did you mean " + *meant + "?)" : ""));
}

void read_detection(MapReader& parent, Problems& problems, DetectionSettings& out) {
  const Node* node = parent.find("detection");
  if (!node) return;
  MapReader map(*node, parent.path_of("detection"), problems);
  map.real("false_alarms_per_day", out.false_alarms_per_day, 0.001, 1000.0);
  map.real("minimum_share", out.minimum_share, 0.0, 1.0);
  map.whole("close_after_slices", out.close_after_slices, 1, 1000);
  if (const auto method = map.value("method", parse_method)) out.method = *method;
  map.finish();
}

}  // namespace

NetworkConfig read_network(const Node& node, const std::string& path, Problems& problems) {
  NetworkConfig network;
  MapReader map(node, path, problems);
  if (node.kind != Node::Kind::kMap) return network;
  if (const auto name = map.value("name", parse_name)) network.name = *name;
  if (!map.find("name")) map.complain_missing("name", "is needed: what to call this network");
  read_nodes(map, problems, network.nodes);
  read_bin(map, network.bin);
  map.duration("lateness", network.lateness, std::chrono::seconds(0), std::chrono::hours(24));
  read_texts(map, "sources", 0, problems, network.sources, parse_source);
  read_time_zone(map, network.time_zone);
  if (!read_texts(map, "metrics", 1, problems, network.metrics, parse_metric) &&
      map.find("metrics"))
    map.complain(*map.find("metrics"), "metrics", "must name at least one: bytes, packets, flows");
  if (const Node* map_node = map.find("node_map"))
    read_node_map(*map_node, map.path_of("node_map"), problems, network.nodes, network.node_map);
  if (const Node* sampling = map.find("sampling"))
    read_sampling(*sampling, map.path_of("sampling"), problems, network.sampling);
  read_model(map, problems, network.model);
  read_detection(map, problems, network.detection);
  map.finish();
  return network;
}

}  // namespace outlierd::config
