#pragma once
// A client of raw sockets for the tests of the HTTP server: sends exactly the bytes it is told, and
// reads answers by Content-Length. Blocking, with a time limit on every read.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace outlierd::test {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class HttpClient {
 public:
  explicit HttpClient(int port, int receive_buffer = 0);  // connects; throws when it cannot
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(std::string_view bytes);
  void end_sending();
  // The next answer; nothing when the connection ended or nothing came in time.
  std::optional<HttpAnswer> receive(bool head_only = false);
  // What comes until `mark` was seen, or until the end or the time limit.
  std::string read_until(std::string_view mark);
  bool ended();  // waits: true when the peer closes without sending more
  std::optional<HttpAnswer> get(const std::string& target, const std::string& headers = "");
  std::optional<HttpAnswer> ask(const std::string& method, const std::string& target,
                                const std::string& headers = "", const std::string& body = "");

 private:
  bool fill();  // false: the end, or too long
  int socket_ = -1;
  std::string buffer_;
};

std::string gunzip(std::string_view bytes);

}  // namespace outlierd::test
