#include "daemon/api/http.h"

#include "daemon/api/http_text.h"
#include "daemon/api/json_writer.h"

namespace outlierd::api {

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_ignoring_case(key, name)) return value;
  return {};
}

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
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
