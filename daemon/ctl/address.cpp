#include "daemon/ctl/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace outlierd::ctl {
namespace {

constexpr std::array<std::pair<std::string_view, Scheme>, 4> kSchemes = {
    {{"tcp://", Scheme::kTcp},
     {"tls://", Scheme::kTls},
     {"http://", Scheme::kHttp},
     {"https://", Scheme::kHttps}}};

bool is_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port > 0 && port < 65536;
}

std::optional<std::string> usual_port(Scheme scheme) {
  if (scheme == Scheme::kHttp) return "80";
  if (scheme == Scheme::kHttps) return "443";
  return std::nullopt;
}

}  // namespace

bool Address::on_this_machine() const {
  return scheme == Scheme::kUnix || host == "localhost" || host == "::1" ||
         host.starts_with("127.");
}

std::string Address::host_header() const {
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", host, brackets ? "]" : "", port);
}

tl::expected<Address, std::string> parse_address(std::string_view text) {
  Address address;
  address.text = text;
  const auto because = [&](std::string_view reason) {
    return tl::unexpected(fmt::format("{}: {}", text, reason));
  };
  if (text.starts_with("unix:")) {
    address.scheme = Scheme::kUnix;
    address.host = text.substr(5);
    if (address.host.empty()) return because("names no path");
    return address;
  }
  const auto scheme = std::find_if(kSchemes.begin(), kSchemes.end(), [&](const auto& known) {
    return text.starts_with(known.first);
  });
  if (scheme == kSchemes.end()) return because("is not tcp://, tls://, http://, https:// or unix:");
  address.scheme = scheme->second;
  std::string_view rest = text.substr(scheme->first.size());
  if (address.is_http() && rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@") != std::string_view::npos)
    return because("takes a host and a port, nothing after or before them");
  std::size_t host_end = rest.find(':');
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) return because("has an open bracket");
    address.host = rest.substr(1, bracket - 1);
    host_end = bracket + 1 < rest.size() ? bracket + 1 : std::string_view::npos;
  } else {
    address.host = rest.substr(0, host_end);
  }
  if (address.host.empty()) return because("names no host");
  if (host_end == std::string_view::npos) {
    const auto usual = usual_port(address.scheme);
    if (!usual) return because("names no port");
    address.port = *usual;
    return address;
  }
  address.port = rest.substr(std::min(host_end + 1, rest.size()));
  if (rest[host_end] != ':' || !is_port(address.port))
    return because("has no port from 1 to 65535");
  return address;
}

}  // namespace outlierd::ctl
