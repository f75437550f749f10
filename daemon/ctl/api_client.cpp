#include "daemon/ctl/api_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/ctl/text_file.h"

namespace outlierd::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTokenBytes = 64 * 1024;
constexpr int kMostOfPage = 1000;

}  // namespace

tl::expected<std::string, std::string> read_token(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = read_small_file(file, kMostTokenBytes);
  if (!text) return text;
  const std::size_t begin = text->find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return tl::unexpected(file + ": holds no token");
  return text->substr(begin, text->find_first_of(" \t\r\n", begin) - begin);
}

tl::expected<ApiClient, Failure> ApiClient::of(const Session& session) {
  auto address = parse_address(session.url);
  if (!address) return tl::unexpected(Failure{"--url " + address.error(), kBadUsage});
  if (!address->is_http())
    return tl::unexpected(
        Failure{"--url " + session.url + ": is not http:// or https://", kBadUsage});
  auto token = read_token(session.token_file);
  if (!token) return tl::unexpected(Failure{token.error(), kFailed});
  ConnectionOptions options;
  options.ca_file = session.ca_file;
  return ApiClient(HttpClient(std::move(*address), std::move(*token), std::move(options)));
}

Failure ApiClient::unreachable(const std::string& reason) const {
  return {
      fmt::format("cannot reach outlierd at {}: {}\n"
                  "Check that it is running (systemctl status outlierd), that http.listen in its "
                  "configuration is this address,\nand that --url or $OUTLIERD_URL is right.",
                  client_.address().text, reason),
      kUnreachable};
}

// A problem document, or whatever there is.
Failure ApiClient::refused(const HttpAnswer& answer) const {
  const Json problem = Json::parse(answer.body, nullptr, false);
  const auto text = [&](const char* key) {
    return problem.is_object() && problem.contains(key) && problem[key].is_string()
               ? problem[key].get<std::string>()
               : std::string();
  };
  std::string reason = text("detail");
  if (reason.empty()) reason = text("title");
  if (reason.empty()) reason = "no reason given";
  std::string hint;
  if (answer.status == 401) hint = " (--token-file names the token to send)";
  if (answer.status == 403) hint = " (the token has not the role for this)";
  return {fmt::format("{} (HTTP {}){}", reason, answer.status, hint), kFailed};
}

tl::expected<std::string, Failure> ApiClient::get(const std::string& target) {
  return send("GET", target);
}

tl::expected<std::string, Failure> ApiClient::send(const std::string& method,
                                                   const std::string& target,
                                                   const std::string& body, double seconds) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.body = body;
  auto answer = client_.send(request, seconds);
  if (!answer) return tl::unexpected(unreachable(answer.error()));
  if (answer->status < 200 || answer->status > 299) return tl::unexpected(refused(*answer));
  return std::move(answer->body);
}

tl::expected<std::string, Failure> ApiClient::list(const std::string& target, int limit) {
  const char mark = target.find('?') == std::string::npos ? '?' : '&';
  Json merged;
  std::string next;
  for (int left = limit; left > 0;) {
    std::string page = fmt::format("{}{}limit={}", target, mark, std::min(left, kMostOfPage));
    if (!next.empty()) page += "&cursor=" + percent_encoded(next);
    auto body = get(page);
    if (!body) return body;
    Json answer = Json::parse(*body, nullptr, false);
    if (!answer.is_object() || !answer.contains("items") || !answer["items"].is_array())
      return tl::unexpected(Failure{"the answer to " + page + " is not a list", kFailed});
    left -= int(answer["items"].size());
    const bool more = answer.contains("next") && answer["next"].is_string();
    if (merged.is_null() && (!more || left <= 0)) return body;
    const bool stuck = answer["items"].empty();
    if (merged.is_null()) {
      merged = answer;
    } else {
      for (Json& item : answer["items"]) merged["items"].push_back(std::move(item));
      merged["next"] = more ? answer["next"] : Json();
    }
    if (!more || stuck) break;
    next = answer["next"].get<std::string>();
  }
  return merged.dump(-1, ' ', false, Json::error_handler_t::replace);
}

tl::expected<void, Failure> ApiClient::follow(
    const std::string& target, const std::string& last_event_id, double quiet_seconds,
    const std::function<bool(std::string_view)>& on_text) {
  HttpRequest request;
  request.target = target;
  request.last_event_id = last_event_id;
  const auto answer = client_.follow(request, quiet_seconds, on_text);
  if (!answer) return tl::unexpected(unreachable(answer.error()));
  if (answer->status != 200) return tl::unexpected(refused(*answer));
  return {};
}

Query& Query::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += fmt::format("{}{}={}", text_.empty() ? "?" : "&", name, percent_encoded(value));
  return *this;
}

}  // namespace outlierd::ctl
