#include "tests/support/line_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace outlierd::test {
namespace {

int connected(int family, const sockaddr* address, socklen_t size) {
  const int made = ::socket(family, SOCK_STREAM, 0);
  const timeval patience{10, 0};
  ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(made, address, size) != 0) {
    const int error = errno;
    ::close(made);
    throw std::system_error(error, std::generic_category(), "connect");
  }
  return made;
}

}  // namespace

LineClient LineClient::tcp(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return LineClient(connected(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

LineClient LineClient::unix_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return LineClient(connected(AF_UNIX, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

LineClient::LineClient(LineClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

LineClient::~LineClient() {
  if (socket_ >= 0) ::close(socket_);
}

void LineClient::send(const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) throw std::system_error(errno, std::generic_category(), "send");
    sent += std::size_t(n);
  }
}

void LineClient::finish() { ::shutdown(socket_, SHUT_WR); }

bool LineClient::fill() {
  char bytes[65536];
  const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
  if (n <= 0) return false;
  buffer_.append(bytes, std::size_t(n));
  return true;
}

std::string LineClient::line() {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos)
    if (!fill()) return {};
  std::string found = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return found;
}

bool LineClient::at_end() { return buffer_.empty() && !fill() && errno != EAGAIN; }

}  // namespace outlierd::test
