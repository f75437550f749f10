#include "daemon/notify/bodies.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <nlohmann/json.hpp>

namespace outlierd::notify {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string alertmanager_body(std::span<const Alert> alerts, EpochSeconds until) {
  Json list = Json::array();
  for (const Alert& alert : alerts)
    list.push_back(
        {{"labels", alert.labels},
         {"annotations", alert.annotations},
         // An event of a slice ahead of the clock must not end before it begins.
         {"startsAt", time_text(alert.firing() ? std::min(alert.starts, until) : alert.starts)},
         {"endsAt", time_text(alert.ends.value_or(until))}});
  return text_of(list);
}

std::string webhook_body(const Alert& alert) {
  const std::string status = alert.firing() ? "firing" : "resolved";
  const auto event = alert.labels.find("event");
  const std::string id = event == alert.labels.end() ? "" : event->second;
  // Of what has not ended Alertmanager says Go's zero time.
  const std::string ends = alert.ends ? time_text(*alert.ends) : "0001-01-01T00:00:00Z";
  return text_of({{"version", "4"},
                  {"groupKey", "{}:{event=\"" + id + "\"}"},
                  {"truncatedAlerts", 0},
                  {"status", status},
                  {"receiver", "outlierd"},
                  {"groupLabels", {{"event", id}}},
                  {"commonLabels", alert.labels},
                  {"commonAnnotations", alert.annotations},
                  {"externalURL", ""},
                  {"alerts",
                   {{{"status", status},
                     {"labels", alert.labels},
                     {"annotations", alert.annotations},
                     {"startsAt", time_text(alert.starts)},
                     {"endsAt", ends},
                     {"generatorURL", ""},
                     {"fingerprint", fingerprint(alert.labels)}}}}});
}

std::string signature_of(std::string_view body, std::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), int(key.size()), bytes_of(body), body.size(), digest.data(),
       &size);
  std::string text = "sha256=";
  for (unsigned int k = 0; k < size; ++k) text += fmt::format("{:02x}", digest[k]);
  return text;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and the zero that OpenSSL adds
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes_of(bytes),
                                   int(bytes.size()));
  text.resize(std::size_t(size));
  return text;
}

}  // namespace outlierd::notify
