#include "daemon/notify/alert.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace outlierd::notify {
namespace {

constexpr std::size_t kMostNames = 1000;  // bytes of a list of nodes

std::string shortened(const std::string& names) {
  if (names.size() <= kMostNames) return names;
  const std::size_t comma = names.rfind(',', kMostNames);
  return names.substr(0, comma == std::string::npos ? 0 : comma) + ",...";
}

}  // namespace

std::string_view severity_of(std::string_view shape) {
  const bool many = shape == "ddos" || shape == "outage" || shape == "network";
  return many ? "critical" : "warning";
}

Words labels_of(const EventNotice& event) {
  return {{"alertname", "OutlierdEvent"},
          {"event", event.id},
          {"network", event.network},
          {"severity", std::string(severity_of(event.shape))},
          {"shape", event.shape}};
}

Words annotations_of(const EventNotice& event) {
  Words words = {{"destinations", shortened(event.destinations)},
                 {"direction", event.direction},
                 {"excess", fmt::format("{:.6g}", event.excess)},
                 {"origins", shortened(event.origins)},
                 {"peak_score", fmt::format("{:.1f}", event.peak_score)},
                 {"shape", event.shape},
                 {"summary", event.summary},
                 {"updated", time_text(event.updated)}};
  if (!event.acknowledged.empty()) words["acknowledged"] = event.acknowledged;
  return words;
}

Alert test_alert(EpochSeconds now) {
  return {{{"alertname", "OutlierdTest"}, {"event", "test"}, {"severity", "none"}},
          {{"summary", "A test of outlierd's notifiers: nothing is wrong"}},
          now,
          std::nullopt};
}

std::string time_text(EpochSeconds time) {
  // The years 0 to 9999, as RFC 3339 has them.
  const std::time_t clamped = std::clamp<EpochSeconds>(time, -62167219200, 253402300799);
  std::tm parts{};
  gmtime_r(&clamped, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string fingerprint(const Words& labels) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::string_view text) {
    for (const char byte : text) hash = (hash ^ std::uint8_t(byte)) * 1099511628211u;
    hash = (hash ^ 255u) * 1099511628211u;
  };
  for (const auto& [name, value] : labels) {
    add(name);
    add(value);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace outlierd::notify
