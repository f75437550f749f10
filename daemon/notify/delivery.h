#pragma once
// One message to one receiver, over HTTP, HTTPS or a syslog socket. Each makes a connection of its
// own: alerts are rare, and a receiver that comes back is found at once.
//
// Coroutines; what goes wrong is told, nothing is thrown.

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace outlierd::notify {

struct Refusal {
  std::string reason;
  bool final = false;  // the receiver understood it and does not want it (400, 413, 422)
};
// What came back, in a few words.
using Delivery = boost::asio::awaitable<tl::expected<std::string, Refusal>>;

struct HttpTarget {
  bool tls = false;
  std::string host;
  std::uint16_t port = 80;
  std::string target = "/";  // path and query
  std::vector<std::pair<std::string, std::string>> headers = {};

  bool operator==(const HttpTarget&) const = default;
};
// Certificates are verified against the system's authorities (and $SSL_CERT_FILE). 2xx is success.
Delivery post(HttpTarget target, std::string body);

enum class SyslogTransport { kUdp, kTcp, kUnix };
struct SyslogTarget {
  SyslogTransport transport = SyslogTransport::kUdp;
  std::string host;
  std::uint16_t port = 514;
  std::string path = {};  // of a Unix datagram socket

  bool operator==(const SyslogTarget&) const = default;
};
Delivery send_syslog(SyslogTarget target, std::string line);

}  // namespace outlierd::notify
