#pragma once
// What goes in and out of the HTTP server, as plain values: nothing of Asio or Beast.
//
// For every request the server asks its Dispatch, with the header alone, who answers it; only then
// is a body read. Everything here runs on the net thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlierd::api {

struct Request {
  std::string method;  // as sent: "GET", ...
  std::string path;    // up to the question mark, still percent-encoded
  std::string query;   // behind it, still encoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string peer;  // address without port
  bool loopback = false;
  bool tls = false;

  // The first header of that name, in any case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

// An answer without end (server-sent events). write() never waits: it queues, and a client that
// reads too slowly is closed. on_close runs once, whoever ends it.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual bool write(std::shared_ptr<const std::string> bytes) = 0;  // false: it is closed
  virtual void close() = 0;
  std::function<void()> on_close;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body;                   // null: none
  std::vector<std::pair<std::string, std::string>> headers;  // beyond those the server writes
  bool tagged = false;                                       // give it an ETag, answer 304
  std::string content_security = "default-src 'none'; frame-ancestors 'none'";
  std::function<void(std::shared_ptr<Stream>)> stream;  // set: the answer is a stream
};

// {"type":"about:blank","title":...,"status":...,"detail":...} as application/problem+json.
Response problem(int status, std::string_view detail);
Response json_response(int status, std::string body);
// The words that belong to a status code: "Not Found".
std::string_view reason_of(int status);

// Answers one request. May be copied and kept; the first call counts, on the net thread. When the
// last copy goes without a call, the request is answered 500.
class Reply {
 public:
  using Send = std::function<void(std::optional<Response>)>;  // nothing: nobody answered
  explicit Reply(Send send);
  void operator()(Response response) const;

 private:
  struct Once;
  std::shared_ptr<Once> once_;
};

using Handler = std::function<void(Request&, Reply)>;  // may take the body out

struct Admission {
  std::optional<Response> refusal;  // set: answered at once, the body is not read
  std::size_t most_body_bytes = 0;  // of this request
  Handler handle;
  std::optional<std::chrono::milliseconds> handler_time;  // instead of the server's own
  std::string_view route = "unmatched";  // label for the counters; outlives the server
};
using Dispatch = std::function<Admission(const Request& head)>;

}  // namespace outlierd::api
