#include "daemon/notification.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "daemon/log.h"

namespace outlierd {
namespace {

constexpr std::size_t kMostSecret = 64 * 1024;

tl::expected<std::string, std::string> secret_of(const std::string& file) {
  if (file.empty()) return std::string();
  std::ifstream in(file, std::ios::binary);
  if (!in) return tl::unexpected("notify: cannot read " + file + ": " + std::strerror(errno));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty() || text.size() > kMostSecret || text.find_first_of("\r\n") != std::string::npos)
    return tl::unexpected("notify: " + file + " must hold one line");
  return text;
}

void use_url(notify::NotifierSettings& settings, const config::Url& url) {
  settings.transport = url.tls ? notify::Transport::kTls : notify::Transport::kTcp;
  settings.host = url.host;
  settings.port = url.port;
  settings.path = url.target;
  settings.user_info = url.user_info;
}

void use_endpoint(notify::NotifierSettings& settings, const config::Endpoint& at) {
  settings.transport = at.transport == config::Transport::kUdp    ? notify::Transport::kUdp
                       : at.transport == config::Transport::kUnix ? notify::Transport::kUnix
                                                                  : notify::Transport::kTcp;
  settings.host = at.host;
  settings.port = at.port;
  settings.path = at.path;
}

notify::NotifierSettings settings_of(const config::Notifier& from) {
  notify::NotifierSettings settings;
  switch (from.kind) {
    case config::NotifierKind::kAlertmanager:
      settings.kind = notify::Kind::kAlertmanager;
      settings.name = "alertmanager " + config::text_without_secret(from.url);
      use_url(settings, from.url);
      break;
    case config::NotifierKind::kWebhook:
      settings.kind = notify::Kind::kWebhook;
      settings.name = "webhook " + config::text_without_secret(from.url);
      use_url(settings, from.url);
      break;
    case config::NotifierKind::kSyslog:
      settings.kind = notify::Kind::kSyslog;
      settings.name = "syslog " + config::text_of(from.syslog);
      use_endpoint(settings, from.syslog);
      break;
  }
  return settings;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

tl::expected<std::vector<notify::NotifierSettings>, std::string> notifier_settings(
    const config::Config& config, std::chrono::seconds resend) {
  std::vector<notify::NotifierSettings> all;
  std::set<std::string> names;
  for (const config::Notifier& from : config.notify) {
    notify::NotifierSettings settings = settings_of(from);
    const std::string name = settings.name;
    for (int k = 2; !names.insert(settings.name).second; ++k)
      settings.name = name + " (" + std::to_string(k) + ")";
    auto token = secret_of(from.token_file), key = secret_of(from.hmac_key_file);
    if (!token) return tl::unexpected(token.error());
    if (!key) return tl::unexpected(key.error());
    settings.token = std::move(*token);
    settings.hmac_key = std::move(*key);
    settings.resend = resend;
    // The same receiver finds its queue again, wherever it stands in the list.
    settings.queue_file = std::filesystem::path(config.store.path) / "notify" /
                          (name.substr(0, name.find(' ')) + "-" +
                           notify::fingerprint({{"name", settings.name}}) + ".queue");
    all.push_back(std::move(settings));
  }
  return all;
}

notify::EventNotice notice_of(const api::EventRecord& event, bool silenced, bool watched) {
  notify::EventNotice notice;
  notice.id = event.id;
  notice.network = event.network;
  notice.shape = name_of(event.shape);
  notice.direction = event.up ? "up" : "down";
  notice.summary = event.summary;
  notice.opened = event.opened;
  notice.updated = event.updated;
  notice.closed = event.closed;
  if (!event.open || !watched) notice.closed = event.closed.value_or(event.updated);
  notice.peak_score = event.peak_score;
  notice.excess = event.excess;
  notice.origins = joined(event.origins);
  notice.destinations = joined(event.destinations);
  if (const auto& ack = event.acknowledged)
    notice.acknowledged = "by " + ack->by + (ack->comment.empty() ? "" : ": " + ack->comment);
  notice.silenced = silenced;
  return notice;
}

notify::NotifierPorts logging_ports() {
  notify::NotifierPorts ports;
  ports.failed = [](const std::string& name, const std::string& reason) {
    log::warn("notify_failed", {{"notifier", name}, {"reason", reason}});
  };
  ports.works_again = [](const std::string& name) {
    log::info("notify_works_again", {{"notifier", name}});
  };
  ports.queue_failed = [](const std::string& name, const std::string& reason) {
    log::error("notify_queue_failed", {{"notifier", name}, {"reason", reason}});
  };
  return ports;
}

}  // namespace outlierd
