#include "config/dump.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "config/values.h"

namespace outlierd::config {
namespace {

// Plain where every reader of YAML takes it for the same text, else in double quotes.
std::string scalar(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto fits = [&](char c) {
    return letter(c) || digit(c) || std::string_view("._-/+@:").find(c) != std::string_view::npos;
  };
  const bool begins =
      !text.empty() && (letter(text.front()) || digit(text.front()) || text.front() == '/');
  const bool word = text == "null" || text == "Null" || text == "NULL";
  if (begins && !word && text.back() != ':' && std::all_of(text.begin(), text.end(), fits))
    return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

class Writer {
 public:
  void line(const std::string& key, const std::string& value) {
    begin() += key + ":" + (value.empty() ? "" : " " + value) + "\n";
  }
  void text(const std::string& key, const std::string& value) {
    line(key, value.empty() ? "" : scalar(value));
  }
  void boolean(const std::string& key, bool value) { line(key, value ? "true" : "false"); }
  void texts(const std::string& key, const std::vector<std::string>& values) {
    std::string all;
    for (const std::string& value : values) all += (all.empty() ? "" : ", ") + scalar(value);
    line(key, "[" + all + "]");
  }
  void section(const std::string& key, const std::function<void()>& body) {
    line(key, "");
    indent_ += 2;
    body();
    indent_ -= 2;
  }
  template <class Items, class Body>
  void list(const std::string& key, const Items& items, Body body) {
    if (items.empty()) return line(key, "[]");
    section(key, [&] {
      for (const auto& item : items) {
        dash_ = true;
        indent_ += 2;
        body(item);
        indent_ -= 2;
      }
    });
  }
  template <class Items, class Body>
  void map(const std::string& key, const Items& items, Body body) {
    if (items.empty()) return line(key, "{}");
    section(key, [&] {
      for (const auto& item : items) body(item);
    });
  }
  std::string take() { return std::move(out_); }

 private:
  std::string& begin() {
    std::string margin(indent_, ' ');
    if (std::exchange(dash_, false)) margin[indent_ - 2] = '-';
    return out_ += margin;
  }

  std::string out_;
  std::size_t indent_ = 0;
  bool dash_ = false;
};

void write_access(Writer& out, const Tls& tls, const std::string& tokens_file, bool allow_anonymous,
                  int max_connections) {
  out.section("tls", [&] {
    out.text("certificate_file", tls.certificate_file);
    out.text("key_file", tls.key_file);
  });
  out.text("tokens_file", tokens_file);
  out.boolean("allow_anonymous", allow_anonymous);
  out.line("max_connections", std::to_string(max_connections));
}

void write_listeners(Writer& out, const Config& config) {
  out.section("http", [&] {
    const Http& http = config.http;
    out.text("listen", host_port(http.listen));
    write_access(out, http.tls, http.tokens_file, http.allow_anonymous, http.max_connections);
    out.line("max_body", size_text(http.max_body));
    out.line("request_timeout", text_of(http.request_timeout));
  });
  out.list("matrices", config.matrices, [&](const MatrixListener& matrix) {
    out.text("listen", text_of(matrix.listen));
    write_access(out, matrix.tls, matrix.tokens_file, matrix.allow_anonymous,
                 matrix.max_connections);
    out.line("max_line", size_text(matrix.max_line));
  });
  out.list("flows", config.flows, [&](const FlowListener& flow) {
    out.text("listen", text_of(flow.listen));
    out.line("protocol", name_in(kProtocols, flow.protocol));
    out.line("receive_buffer", size_text(flow.receive_buffer));
    out.line("receivers", std::to_string(flow.receivers));
    out.line("count_egress", flow.count_egress ? "true" : "false");
    std::vector<std::string> exporters;
    for (const Prefix& prefix : flow.exporters) exporters.push_back(text_of(prefix));
    out.texts("exporters", exporters);
    out.text("network", flow.network);
  });
}

void write_node_map(Writer& out, const NodeMap& map) {
  out.map("prefixes", map.prefixes,
          [&](const PrefixNode& entry) { out.text(scalar(text_of(entry.prefix)), entry.node); });
  out.map("exporters", map.exporters, [&](const ExporterNode& entry) {
    const std::string interface =
        entry.interface ? "/ifindex " + std::to_string(*entry.interface) : "";
    out.text(scalar(text_of(entry.exporter) + interface), entry.node);
  });
  out.map("next_hops", map.next_hops,
          [&](const NextHopNode& entry) { out.text(scalar(text_of(entry.next_hop)), entry.node); });
  out.text("prefix_file", map.prefix_file);
}

std::string sampling_text(const Sampling& sampling) {
  if (sampling.unknown == UnknownSampling::kReject) return "reject";
  if (sampling.unknown == UnknownSampling::kLastKnown) return "last_known";
  return "{assume: " + std::to_string(sampling.assume) + "}";
}

void write_network(Writer& out, const NetworkConfig& network) {
  out.text("name", network.name);
  out.texts("nodes", network.nodes);
  out.line("bin", text_of(network.bin));
  out.line("lateness", text_of(network.lateness));
  out.texts("sources", network.sources);
  out.text("time_zone", network.time_zone);
  out.texts("metrics", network.metrics);
  out.section("node_map", [&] { write_node_map(out, network.node_map); });
  out.section("sampling", [&] { out.line("unknown", sampling_text(network.sampling)); });
  out.section("model", [&] {
    out.line("max_rank", std::to_string(network.model.max_rank));
    out.line("window", std::to_string(network.model.window));
    out.line("forgetting", text_of(network.model.forgetting));
  });
  out.section("detection", [&] {
    out.line("false_alarms_per_day", text_of(network.detection.false_alarms_per_day));
    out.line("minimum_share", text_of(network.detection.minimum_share));
    out.line("close_after_slices", std::to_string(network.detection.close_after_slices));
    out.text("method", network.detection.method);
  });
}

void write_notifier(Writer& out, const Notifier& notifier) {
  switch (notifier.kind) {
    case NotifierKind::kAlertmanager:
      return out.text("alertmanager", text_without_secret(notifier.url));
    case NotifierKind::kWebhook:
      out.text("webhook", text_without_secret(notifier.url));
      out.text("token_file", notifier.token_file);
      return out.text("hmac_key_file", notifier.hmac_key_file);
    case NotifierKind::kSyslog:
      return out.text("syslog", text_of(notifier.syslog));
  }
}

}  // namespace

std::string dump(const Config& config) {
  Writer out;
  write_listeners(out, config);
  out.list("networks", config.networks,
           [&](const NetworkConfig& network) { write_network(out, network); });
  out.section("store", [&] {
    out.text("path", config.store.path);
    out.line("keep", text_of(config.store.keep));
    out.line("max_size", size_text(config.store.max_size));
    out.line("snapshot_every", text_of(config.store.snapshot_every));
  });
  out.list("notify", config.notify,
           [&](const Notifier& notifier) { write_notifier(out, notifier); });
  out.section("log", [&] {
    out.line("level", name_in(kLevels, config.log.level));
    out.line("format", name_in(kFormats, config.log.format));
  });
  return out.take();
}

}  // namespace outlierd::config
