#include "daemon/api/http.h"

#include "daemon/api/http_text.h"
#include "daemon/api/json_writer.h"

namespace outlierd::api {
namespace {

struct Reason {
  int status;
  std::string_view words;
};
constexpr Reason kReasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_ignoring_case(key, name)) return value;
  return {};
}

std::string_view reason_of(int status) {
  for (const Reason& reason : kReasons)
    if (reason.status == status) return reason.words;
  return "Unknown";
}

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::make_shared<const std::string>(std::move(body));
  return response;
}

Response problem(int status, std::string_view detail) {
  JsonWriter json;
  json.begin_object().key("type").string("about:blank").key("title").string(reason_of(status));
  json.key("status").number(status).key("detail").string(detail).end_object();
  Response response = json_response(status, json.take());
  response.content_type = "application/problem+json";
  return response;
}

struct Reply::Once {
  explicit Once(Send send_in) : send(std::move(send_in)) {}
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;
  Send send;
  bool called = false;
  ~Once() {
    if (!called) send(std::nullopt);
  }
};

Reply::Reply(Send send) : once_(std::make_shared<Once>(std::move(send))) {}

void Reply::operator()(Response response) const {
  if (once_->called) return;
  once_->called = true;
  once_->send(std::move(response));
}

}  // namespace outlierd::api
