#pragma once
// Where a daemon is: tcp://host:port, tls://host:port, unix:PATH, http://host[:port],
// https://host[:port]; hosts of IPv6 in brackets.

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace outlierd::ctl {

enum class Scheme { kTcp, kTls, kUnix, kHttp, kHttps };

struct Address {
  Scheme scheme = Scheme::kHttp;
  std::string host;  // without brackets; of unix the path
  std::string port;
  std::string text;  // as it was written, for messages

  bool encrypted() const { return scheme == Scheme::kTls || scheme == Scheme::kHttps; }
  bool is_http() const { return scheme == Scheme::kHttp || scheme == Scheme::kHttps; }
  bool on_this_machine() const;     // a Unix socket, or a loopback name or number
  std::string host_header() const;  // host:port, brackets and all
  bool operator==(const Address&) const = default;
};

tl::expected<Address, std::string> parse_address(std::string_view text);

}  // namespace outlierd::ctl
