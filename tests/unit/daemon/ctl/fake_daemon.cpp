#include "tests/unit/daemon/ctl/fake_daemon.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace outlierd::test {
namespace {

bool readable(int socket) {
  pollfd watched{socket, POLLIN, 0};
  return poll(&watched, 1, 10) > 0;
}

}  // namespace

FakeDaemon::FakeDaemon(Speaks speaks, React react) : speaks_(speaks), react_(std::move(react)) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&name), length) != 0 ||
      listen(listener_, 8) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &length) != 0)
    std::abort();
  port_ = ntohs(name.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakeDaemon::~FakeDaemon() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

std::string FakeDaemon::address(const std::string& scheme) const {
  return scheme + "://127.0.0.1:" + std::to_string(port_);
}

std::vector<std::string> FakeDaemon::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void FakeDaemon::serve() {
  for (int connection = 0; !stop_;) {
    if (!readable(listener_)) continue;
    const int socket = accept(listener_, nullptr, nullptr);
    if (socket < 0) continue;
    talk(socket, connection++);
    close(socket);
  }
}

void FakeDaemon::talk(int socket, int connection) {
  std::string in, message;
  for (int count = 0; !stop_;) {
    while (take_message(in, message)) {
      {
        const std::lock_guard lock(mutex_);
        received_.push_back(message);
      }
      const Reaction reaction = react_(connection, count++, message);
      std::string_view rest = reaction.reply;
      while (!rest.empty()) {
        const auto sent = send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        rest.remove_prefix(std::size_t(sent));
      }
      if (reaction.close_after) return;
    }
    if (!readable(socket)) continue;
    char block[65536];
    const auto got = recv(socket, block, sizeof block, 0);
    if (got <= 0) return;
    in.append(block, std::size_t(got));
  }
}

bool FakeDaemon::take_message(std::string& in, std::string& message) const {
  std::size_t size = 0;
  if (speaks_ == Speaks::kLines) {
    const std::size_t end = in.find('\n');
    if (end == std::string::npos) return false;
    message = in.substr(0, end);
    size = end + 1;
  } else {
    const std::size_t header = in.find("\r\n\r\n");
    if (header == std::string::npos) return false;
    size = header + 4;
    const std::size_t field = in.find("Content-Length: ");
    if (field < header) size += std::stoul(in.substr(field + 16));
    if (in.size() < size) return false;
    message = in.substr(0, size);
  }
  in.erase(0, size);
  return true;
}

std::string http_reply(int status, const std::string& body, const std::string& type) {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace outlierd::test
