#include "config/load.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>

#include "config/document.h"
#include "config/sections.h"

namespace outlierd::config {
namespace {

constexpr std::size_t kLargestFile = 4 * kMiB;

void read_networks(MapReader& root, Problems& problems, std::vector<NetworkConfig>& networks) {
  std::map<std::string, int> lines;
  const bool given = root.list("networks", [&](const Node& item, const std::string& path) {
    NetworkConfig network = read_network(item, path, problems);
    const auto [first, added] = lines.emplace(network.name, item.line);
    if (!added && !network.name.empty())
      report(problems, item, path + ".name",
             network.name + " is already the name of the network in line " +
                 std::to_string(first->second));
    networks.push_back(std::move(network));
  });
  const char* needed = "at least one network is needed";
  if (given && root.find("networks")->items.empty())
    root.complain(*root.find("networks"), "networks", needed);
  else if (!root.find("networks"))
    root.complain_missing("networks", needed);
}

void read_listeners(MapReader& root, Problems& problems, Config& config) {
  std::vector<Bound> bound;
  const Node nothing;
  const Node* http = root.find("http");
  read_http(http ? *http : nothing, problems, config.http, bound);
  std::vector<MatrixListener> matrices;
  if (root.list("matrices", [&](const Node& item, const std::string& path) {
        matrices.push_back(read_matrices(item, path, problems, bound));
      }))
    config.matrices = std::move(matrices);
  else
    bound.push_back({config.matrices.front().listen, nullptr, "matrices[0].listen"});
  root.list("flows", [&](const Node& item, const std::string& path) {
    config.flows.push_back(read_flows(item, path, problems, config.networks, bound));
  });
  check_bound(bound, problems);
}

void read_store(MapReader& root, Problems& problems, Store& store) {
  const Node* node = root.find("store");
  if (!node) return;
  MapReader map(*node, "store", problems);
  map.text("path", store.path);
  map.duration("keep", store.keep, std::chrono::hours(1), std::chrono::hours(3650 * 24));
  map.size("max_size", store.max_size, kMiB, 1024 * 1024 * kGiB);
  map.duration("snapshot_every", store.snapshot_every, std::chrono::milliseconds(100),
               std::chrono::hours(24));
  map.finish();
}

void read_log(MapReader& root, Problems& problems, Log& log) {
  const Node* node = root.find("log");
  if (!node) return;
  MapReader map(*node, "log", problems);
  map.choice("level", log.level, kLevels);
  map.choice("format", log.format, kFormats);
  map.finish();
}

Problems sorted(Problems problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return problems;
}

Loaded failed(int line, int column, std::string message) {
  return tl::unexpected(Problems{{line, column, std::move(message)}});
}

}  // namespace

Notifier read_notifier(const Node& node, const std::string& path, Problems& problems) {
  Notifier notifier;
  MapReader map(node, path, problems);
  if (node.kind != Node::Kind::kMap) return notifier;
  const bool alertmanager = map.find("alertmanager"), webhook = map.find("webhook"),
             syslog = map.find("syslog");
  if (int(alertmanager) + int(webhook) + int(syslog) != 1)
    report(problems, node, path, "must have exactly one of alertmanager, webhook and syslog");
  notifier.kind = webhook  ? NotifierKind::kWebhook
                  : syslog ? NotifierKind::kSyslog
                           : NotifierKind::kAlertmanager;
  for (const char* key : {"alertmanager", "webhook"})
    if (const auto url = map.value(key, parse_url)) notifier.url = *url;
  const auto endpoint = map.value("syslog", [](std::string_view text) {
    return parse_target(text, {Transport::kUdp, Transport::kTcp, Transport::kUnix});
  });
  if (endpoint) notifier.syslog = *endpoint;
  map.text("token_file", notifier.token_file);
  map.text("hmac_key_file", notifier.hmac_key_file);
  for (const char* key : {"token_file", "hmac_key_file"})
    if (const Node* file = map.find(key); file && !webhook)
      map.complain(*file, key, "is only for a webhook");
  map.finish();
  return notifier;
}

std::string format(std::string_view file, const Problem& problem) {
  std::string text(file);
  if (problem.line > 0)
    text += ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column);
  return text + ": " + problem.message;
}

Loaded load_text(std::string_view yaml) {
  if (yaml.size() > kLargestFile)
    return failed(0, 0, "is larger than " + size_text(kLargestFile) + ", the most that is read");
  const auto document = parse_document(yaml);
  if (!document) return tl::unexpected(Problems{document.error()});
  const Node& top = **document;
  if (top.kind == Node::Kind::kEmpty)
    return failed(1, 1, "the file is empty: at least networks: is needed");
  if (top.kind != Node::Kind::kMap)
    return failed(top.line, top.column,
                  "the file must be a mapping that begins with a key, such as networks:");

  Config config;
  Problems problems;
  MapReader root(top, "", problems);
  read_networks(root, problems, config.networks);
  read_listeners(root, problems, config);
  read_store(root, problems, config.store);
  root.list("notify", [&](const Node& item, const std::string& path) {
    config.notify.push_back(read_notifier(item, path, problems));
  });
  read_log(root, problems, config.log);
  root.finish();
  if (!problems.empty()) return tl::unexpected(sorted(std::move(problems)));
  return config;
}

Loaded load_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return failed(0, 0, "cannot be read: no such file");
  if (error) return failed(0, 0, "cannot be read: " + error.message());
  if (std::filesystem::is_directory(status))
    return failed(0, 0, "cannot be read: it is a directory");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return failed(0, 0, "cannot be read: " + std::generic_category().message(errno));
  // One byte more than is taken, so that a file without an end is noticed too.
  std::string text(kLargestFile + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  if (in.bad()) return failed(0, 0, "cannot be read: " + std::generic_category().message(errno));
  text.resize(std::size_t(in.gcount()));
  return load_text(text);
}

}  // namespace outlierd::config
