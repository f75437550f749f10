#include "daemon/ctl/push_protocol.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/ctl/http.h"

namespace outlierd::ctl {
namespace {

using SortedJson = nlohmann::json;

std::string text_of(const SortedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
bool is_true(const SortedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// An answer to a closed bin says late, as a key or as a word of its error.
bool says_late(const SortedJson& object, const std::string& error) {
  if (is_true(object, "late")) return true;
  const std::size_t place = error.find("late");
  const auto is_letter = [&](std::size_t k) {
    return k < error.size() && std::isalpha(static_cast<unsigned char>(error[k])) != 0;
  };
  return place != std::string::npos && !is_letter(place + 4) &&
         (place == 0 || !is_letter(place - 1));
}

PushAnswer judge(const SortedJson& object) {
  const std::string error = text_of(object, "error");
  if (is_true(object, "retry")) return {Verdict::kRetry, error};
  if (says_late(object, error)) return {Verdict::kLate, error};
  if (is_true(object, "ok")) return {Verdict::kAccepted, {}};
  return {Verdict::kRefused, error.empty() ? "refused without a reason" : error};
}

class LineProtocol : public PushProtocol {
 public:
  LineProtocol(SliceMessage message, std::string token)
      : message_(std::move(message)), token_(std::move(token)) {}

  std::string begin() override {
    greeted_ = !token_.empty();
    return greeted_ ? SortedJson{{"token", token_}}.dump() + "\n" : std::string();
  }

  std::string encode(const TrafficRow& row) const override {
    std::string line;
    message_.append_json(row, line);
    return line += '\n';
  }

  tl::expected<std::optional<PushAnswer>, std::string> take_answer(std::string& in) override {
    while (true) {
      const std::size_t end = in.find('\n');
      if (end == std::string::npos) return std::nullopt;
      const std::string line = in.substr(0, end);
      in.erase(0, end + 1);
      const SortedJson object = SortedJson::parse(line, nullptr, false);
      if (!object.is_object()) return tl::unexpected("not an answer: " + line.substr(0, 80));
      // The token's own line may be answered or not: an answer to a bin names its time, and an
      // error counts lines from 1, which was the token.
      const bool of_token =
          greeted_ && (is_true(object, "ok") ? !object.contains("time")
                                             : object.value("line", SortedJson()) == 1);
      greeted_ = false;
      if (!of_token) return judge(object);
      if (!is_true(object, "ok")) return PushAnswer{Verdict::kDenied, text_of(object, "error")};
    }
  }

 private:
  SliceMessage message_;
  std::string token_;
  bool greeted_ = false;  // the token was sent and no answer has come since
};

class HttpProtocol : public PushProtocol {
 public:
  HttpProtocol(SliceMessage message, Address address, const std::string& network, std::string token,
               bool cbor)
      : message_(std::move(message)),
        address_(std::move(address)),
        token_(std::move(token)),
        target_("/api/v1/networks/" + percent_encoded(network) + "/slices"),
        cbor_(cbor) {}

  std::string begin() override {
    reader_ = HttpAnswerReader();
    return {};
  }

  std::string encode(const TrafficRow& row) const override {
    HttpRequest request{.method = "POST", .target = target_};
    if (cbor_) {
      request.content_type = "application/cbor";
      message_.append_cbor(row, request.body);
    } else {
      message_.append_json(row, request.body);
    }
    return format_request(address_, token_, request);
  }

  tl::expected<std::optional<PushAnswer>, std::string> take_answer(std::string& in) override {
    auto answer = reader_.take(in);
    if (!answer) return tl::unexpected(answer.error());
    if (!*answer) return std::nullopt;
    const SortedJson object = SortedJson::parse((*answer)->body, nullptr, false);
    std::string reason = object.is_object() ? text_of(object, "detail") : std::string();
    if (reason.empty() && object.is_object()) reason = text_of(object, "error");
    if (reason.empty() && object.is_object()) reason = text_of(object, "title");
    const int status = (*answer)->status;
    reason = reason.empty() ? fmt::format("HTTP {}", status) : reason;
    if (object.is_object() && is_true(object, "retry")) return PushAnswer{Verdict::kRetry, reason};
    if (status >= 200 && status < 300) return PushAnswer{Verdict::kAccepted, {}};
    if (status == 409) return PushAnswer{Verdict::kLate, reason};
    if (status == 429 || status == 503) return PushAnswer{Verdict::kRetry, reason};
    if (status == 401 || status == 403 || status == 404)
      return PushAnswer{Verdict::kDenied, reason};
    return PushAnswer{Verdict::kRefused, reason};
  }

 private:
  SliceMessage message_;
  Address address_;
  std::string token_, target_;
  bool cbor_;
  HttpAnswerReader reader_;
};

}  // namespace

std::unique_ptr<PushProtocol> line_protocol(SliceMessage message, std::string token) {
  return std::make_unique<LineProtocol>(std::move(message), std::move(token));
}
std::unique_ptr<PushProtocol> http_protocol(SliceMessage message, Address address,
                                            std::string network, std::string token, bool cbor) {
  return std::make_unique<HttpProtocol>(std::move(message), std::move(address), network,
                                        std::move(token), cbor);
}

}  // namespace outlierd::ctl
