#pragma once
// Addresses as the configuration writes them: IP addresses, prefixes, endpoints, URLs. Plain values
// with a canonical text; parsing a canonical text gives the same value back.
//
// Parsers are total: a value, or what would be right. A reason never repeats what was given, which
// may hold a secret.

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace outlierd::config {

struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // in network order; IPv4 uses the first four

  auto operator<=>(const IpAddress&) const = default;
};
std::optional<IpAddress> parse_ip(std::string_view text);
std::string text_of(const IpAddress& address);
bool is_loopback(const IpAddress& address);
bool is_any(const IpAddress& address);  // 0.0.0.0 or ::

struct Prefix {
  IpAddress address;  // bits beyond the length are zero
  int length = 0;

  auto operator<=>(const Prefix&) const = default;
};
// "192.0.2.0/24"; an address alone is a prefix of its full length.
tl::expected<Prefix, std::string> parse_prefix(std::string_view text);
std::string text_of(const Prefix& prefix);
bool contains(const Prefix& prefix, const IpAddress& address);

enum class Transport { kTcp, kTls, kUdp, kUnix };

struct Endpoint {
  Transport transport = Transport::kTcp;
  std::string host;        // without brackets; of a listener always an IP address
  std::uint16_t port = 0;  // of a listener 0 means any free port
  std::string path;        // of a Unix socket, absolute; host and port are then unused

  bool operator==(const Endpoint&) const = default;
};
// tcp://ADDRESS:PORT, tls://..., udp://... or unix:/PATH, as far as the transport is allowed.
// An IPv6 address stands in brackets; localhost is 127.0.0.1.
tl::expected<Endpoint, std::string> parse_listener(std::string_view text,
                                                   std::initializer_list<Transport> allowed);
// The same for something to send to: the host may be a name, the port is not 0.
tl::expected<Endpoint, std::string> parse_target(std::string_view text,
                                                 std::initializer_list<Transport> allowed);
// ADDRESS:PORT, what HTTP listens on.
tl::expected<Endpoint, std::string> parse_host_port(std::string_view text);
std::string text_of(const Endpoint& endpoint);
std::string host_port(const Endpoint& endpoint);  // "127.0.0.1:9471", "[::1]:9471"
// Reachable from this machine only.
bool is_local(const Endpoint& endpoint);

struct Url {
  bool tls = false;        // https
  std::string user_info;   // as written, before the @; may hold a password
  std::string host;        // without brackets
  std::uint16_t port = 0;  // never 0 once parsed
  std::string target;      // path and query, begins with a slash

  bool operator==(const Url&) const = default;
};
tl::expected<Url, std::string> parse_url(std::string_view text);
std::string text_of(const Url& url);
// As text_of, with <secret> in place of a password (or of a user name that stands alone).
std::string text_without_secret(const Url& url);

}  // namespace outlierd::config
