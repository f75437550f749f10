#include "config/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace outlierd::config {
namespace {

using Reason = tl::unexpected<std::string>;

constexpr std::size_t kLongestUnixPath = 107;  // sun_path holds 108 with its end

struct Scheme {
  Transport transport;
  std::string_view prefix, form;
};
constexpr Scheme kSchemes[] = {
    {Transport::kTcp, "tcp://", "tcp://HOST:PORT"},
    {Transport::kTls, "tls://", "tls://HOST:PORT"},
    {Transport::kUdp, "udp://", "udp://HOST:PORT"},
    {Transport::kUnix, "unix:", "unix:/PATH"},
};

std::string forms_of(std::initializer_list<Transport> allowed) {
  std::string forms;
  std::size_t left = allowed.size();
  for (Transport transport : allowed) {
    forms += kSchemes[std::size_t(transport)].form;
    --left;
    forms += left == 0 ? "" : left == 1 ? " or " : ", ";
  }
  return forms;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > 253 || text.front() == '-' || text.front() == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

struct HostAndPort {
  std::string_view host, port;
  bool brackets = false, has_port = false;
};

// Splits at the last colon outside brackets; says nothing of what the parts hold.
tl::expected<HostAndPort, std::string> split(std::string_view text) {
  HostAndPort parts;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return Reason("misses the ] after an IPv6 address");
    parts.brackets = true;
    parts.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return Reason("needs :PORT after the ]");
  } else {
    if (std::count(text.begin(), text.end(), ':') > 1)
      return Reason("must have an IPv6 address in brackets, such as [::1]:9470");
    const std::size_t colon = std::min(text.find(':'), text.size());
    parts.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  parts.has_port = !rest.empty();
  if (parts.has_port) parts.port = rest.substr(1);
  return parts;
}

tl::expected<Endpoint, std::string> parse_network_endpoint(std::string_view text,
                                                           Transport transport, bool listens) {
  const auto parts = split(text);
  if (!parts) return Reason(parts.error());
  if (!parts->has_port || parts->port.empty())
    return Reason("needs a port after the host, such as 127.0.0.1:9470");
  const auto port = parse_port(parts->port);
  if (!port || (!listens && *port == 0))
    return Reason(std::string("must have a port from ") + (listens ? "0" : "1") + " to 65535");

  Endpoint endpoint{transport, std::string(parts->host), *port, {}};
  if (listens && endpoint.host == "localhost") endpoint.host = "127.0.0.1";
  const auto address = parse_ip(endpoint.host);
  if (address) {
    if (address->v6 != parts->brackets) return Reason("has brackets, which only IPv6 takes");
    endpoint.host = text_of(*address);
    return endpoint;
  }
  if (parts->brackets) return Reason("must have an IPv6 address between the brackets");
  if (listens)
    return Reason("must have an IP address to listen on, such as 127.0.0.1, 0.0.0.0 or [::1]");
  if (!is_host_name(endpoint.host)) return Reason("must have a host name or an IP address");
  return endpoint;
}

tl::expected<Endpoint, std::string> parse_unix(std::string_view path) {
  if (path.starts_with("//")) path.remove_prefix(2);  // unix:///run/x is unix:/run/x
  if (!path.starts_with('/') || path.size() == 1)
    return Reason("must have an absolute path after unix:, such as unix:/run/outlierd/x.sock");
  if (path.size() > kLongestUnixPath)
    return Reason("must have a path of at most " + std::to_string(kLongestUnixPath) + " bytes");
  return Endpoint{Transport::kUnix, {}, 0, std::string(path)};
}

tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text,
                                                   std::initializer_list<Transport> allowed,
                                                   bool listens) {
  for (const Scheme& scheme : kSchemes) {
    if (std::find(allowed.begin(), allowed.end(), scheme.transport) == allowed.end()) continue;
    if (!text.starts_with(scheme.prefix)) continue;
    text.remove_prefix(scheme.prefix.size());
    if (scheme.transport == Transport::kUnix) return parse_unix(text);
    return parse_network_endpoint(text, scheme.transport, listens);
  }
  return Reason("must be " + forms_of(allowed));
}

int bits_of(const IpAddress& address) { return address.v6 ? 128 : 32; }

// The address with every bit from `length` on set to zero.
IpAddress network_part(IpAddress address, int length) {
  for (int byte = 0; byte < 16; ++byte) {
    const int keep = std::clamp(length - 8 * byte, 0, 8);
    address.bytes[std::size_t(byte)] &= std::uint8_t(0xff00 >> keep);
  }
  return address;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  const std::string terminated(text);
  IpAddress address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  address.v6 = true;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

bool is_loopback(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (!address.v6) return bytes[0] == 127;
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) return bytes[12] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return !b; });
}

bool is_any(const IpAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](auto b) { return b == 0; });
}

tl::expected<Prefix, std::string> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ip(text.substr(0, slash));
  if (!address) return Reason("must be a prefix, such as 192.0.2.0/24 or 2001:db8::/32");
  Prefix prefix{*address, bits_of(*address)};
  if (slash == text.npos) return prefix;
  const auto length = parse_port(text.substr(slash + 1));
  if (!length || *length > bits_of(*address))
    return Reason("must have a length from 0 to " + std::to_string(bits_of(*address)) +
                  " after the slash");
  prefix.length = *length;
  prefix.address = network_part(*address, prefix.length);
  if (prefix.address != *address)
    return Reason("has bits set beyond its length; the prefix is " + text_of(prefix));
  return prefix;
}

std::string text_of(const Prefix& prefix) {
  return text_of(prefix.address) + "/" + std::to_string(prefix.length);
}

bool contains(const Prefix& prefix, const IpAddress& address) {
  return prefix.address.v6 == address.v6 && network_part(address, prefix.length) == prefix.address;
}

tl::expected<Endpoint, std::string> parse_listener(std::string_view text,
                                                   std::initializer_list<Transport> allowed) {
  return parse_endpoint(text, allowed, true);
}

tl::expected<Endpoint, std::string> parse_target(std::string_view text,
                                                 std::initializer_list<Transport> allowed) {
  return parse_endpoint(text, allowed, false);
}

tl::expected<Endpoint, std::string> parse_host_port(std::string_view text) {
  if (text.find("//") != text.npos)
    return Reason("must be ADDRESS:PORT without a scheme, such as 127.0.0.1:9471");
  return parse_network_endpoint(text, Transport::kTcp, true);
}

std::string host_port(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

std::string text_of(const Endpoint& endpoint) {
  const std::string prefix(kSchemes[std::size_t(endpoint.transport)].prefix);
  return prefix + (endpoint.transport == Transport::kUnix ? endpoint.path : host_port(endpoint));
}

bool is_local(const Endpoint& endpoint) {
  if (endpoint.transport == Transport::kUnix) return true;
  const auto address = parse_ip(endpoint.host);
  return address && is_loopback(*address);
}

tl::expected<Url, std::string> parse_url(std::string_view text) {
  const auto printable = [](char c) {
    return c > ' ' && c < 0x7f && !std::strchr("<>\"\\^`{|}", c);
  };
  if (!std::all_of(text.begin(), text.end(), printable))
    return Reason("has a character that a URL cannot hold");
  Url url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://"))
    return Reason("must be a URL that begins with http:// or https://");
  text.remove_prefix(url.tls ? 8 : 7);
  if (text.find('#') != text.npos) return Reason("must not have a fragment (#...)");

  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, end);
  url.target = text.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    url.user_info = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  const auto parts = split(authority);
  if (!parts) return Reason(parts.error());
  const auto address = parse_ip(parts->host);
  url.host = address ? text_of(*address) : std::string(parts->host);
  if (parts->brackets ? !address || !address->v6 : !is_host_name(url.host))
    return Reason("must have a host name or an IP address after //");
  url.port = url.tls ? 443 : 80;
  if (!parts->has_port) return url;
  const auto port = parse_port(parts->port);
  if (!port || *port == 0) return Reason("must have a port from 1 to 65535 after the host");
  url.port = *port;
  return url;
}

std::string text_of(const Url& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  std::string text = url.tls ? "https://" : "http://";
  if (!url.user_info.empty()) text += url.user_info + "@";
  text += v6 ? "[" + url.host + "]" : url.host;
  if (url.port != (url.tls ? 443 : 80)) text += ":" + std::to_string(url.port);
  return text + url.target;
}

std::string text_without_secret(const Url& url) {
  if (url.user_info.empty()) return text_of(url);
  const std::size_t colon = url.user_info.find(':');
  Url hidden = url;
  hidden.user_info =
      colon == std::string::npos ? "<secret>" : url.user_info.substr(0, colon) + ":<secret>";
  return text_of(hidden);
}

}  // namespace outlierd::config
