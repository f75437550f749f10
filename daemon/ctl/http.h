#pragma once
// An HTTP/1.1 client over a Connection: one request at a time with keep-alive, or an endless answer
// read as it comes. Also its two halves, for who sends several requests before reading answers.
//
// A failure to reach or understand the daemon is a sentence; any status is an answer.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/ctl/connection.h"

namespace outlierd::ctl {

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  std::string body{};
  std::string content_type = "application/json";
  std::string last_event_id{};  // not empty: an event stream goes on after it
};

struct HttpAnswer {
  int status = 0;
  std::string body;
  bool keep_alive = true;
};

std::string format_request(const Address& address, const std::string& token,
                           const HttpRequest& request);

// Bytes as they arrive -> answers.
class HttpAnswerReader {
 public:
  HttpAnswerReader();
  ~HttpAnswerReader();
  HttpAnswerReader(HttpAnswerReader&&) noexcept;
  HttpAnswerReader& operator=(HttpAnswerReader&&) noexcept;

  // Takes what it needs from the front of `in`; nothing when the answer is not whole yet.
  tl::expected<std::optional<HttpAnswer>, std::string> take(std::string& in);
  // Nothing more will come: an answer without a length ends here.
  tl::expected<std::optional<HttpAnswer>, std::string> end();
  // Of an answer that is not whole: its status (0 before the header) and its body so far, which is
  // taken away.
  int status() const;
  std::string take_body();

 private:
  class State;
  std::unique_ptr<State> state_;
};

class HttpClient {
 public:
  HttpClient(Address address, std::string token, ConnectionOptions options = {});

  tl::expected<HttpAnswer, std::string> send(const HttpRequest& request, double seconds = 30.0);
  // Hands over the body as it comes; ends when on_text returns false, when nothing has come for
  // `quiet_seconds`, or when the daemon closes: then the answer, with the status.
  tl::expected<HttpAnswer, std::string> follow(
      const HttpRequest& request, double quiet_seconds,
      const std::function<bool(std::string_view)>& on_text);
  const Address& address() const { return address_; }

 private:
  tl::expected<HttpAnswer, std::string> send_once(const HttpRequest& request, double seconds,
                                                  bool& nothing_came);

  Address address_;
  std::string token_;
  ConnectionOptions options_;
  std::optional<Connection> connection_;
};

std::string percent_encoded(std::string_view text);

}  // namespace outlierd::ctl
