#pragma once
// A plain blocking client for sockets that speak lines.

#include <string>

namespace outlierd::test {

class LineClient {
 public:
  static LineClient tcp(int port);
  static LineClient unix_socket(const std::string& path);
  LineClient(LineClient&& other) noexcept;
  ~LineClient();

  void send(const std::string& text);
  void finish();  // no more to send
  // The next line without its end; empty at the end of the stream or after ten seconds.
  std::string line();
  bool at_end();  // true when the other side has closed

 private:
  explicit LineClient(int socket) : socket_(socket) {}
  bool fill();
  int socket_;
  std::string buffer_;
};

}  // namespace outlierd::test
