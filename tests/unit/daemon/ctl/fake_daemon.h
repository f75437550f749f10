#pragma once
// A server on a loopback port that reads JSON lines or HTTP requests and answers as the test says.
// One connection at a time, on a thread of its own, until the object goes.

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace outlierd::test {

struct Reaction {
  std::string reply;
  bool close_after = false;
};

class FakeDaemon {
 public:
  enum class Speaks { kLines, kHttp };
  // Runs on the server's thread. connection counts from 0, message from 0 within it; the message
  // is a line without its end, or a whole request.
  using React = std::function<Reaction(int connection, int message, const std::string& text)>;

  FakeDaemon(Speaks speaks, React react);
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  std::string address(const std::string& scheme) const;  // "tcp" -> tcp://127.0.0.1:port
  std::vector<std::string> received() const;

 private:
  void serve();
  void talk(int socket, int connection);
  bool take_message(std::string& in, std::string& message) const;

  Speaks speaks_;
  React react_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> received_;
  std::thread thread_;
};

std::string http_reply(int status, const std::string& body,
                       const std::string& type = "application/json");

}  // namespace outlierd::test
