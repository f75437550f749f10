#include "daemon/ingest/flow/json_values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "core/traffic/time_text.h"

namespace outlierd::ingest {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 22> kProtocols = {{
    {"hopopt", 0}, {"icmp", 1},  {"igmp", 2},   {"ipencap", 4}, {"ipip", 4},       {"tcp", 6},
    {"egp", 8},    {"igp", 9},   {"udp", 17},   {"rdp", 27},    {"dccp", 33},      {"ipv6", 41},
    {"rsvp", 46},  {"gre", 47},  {"esp", 50},   {"ah", 51},     {"ipv6-icmp", 58}, {"icmp6", 58},
    {"ospf", 89},  {"pim", 103}, {"vrrp", 112}, {"sctp", 132},
}};

// The digits behind the point as milliseconds: "123456" is 123.
std::int64_t milliseconds_of(std::string_view fraction) {
  std::int64_t value = 0;
  for (std::size_t k = 0; k < 3; ++k)
    value = value * 10 + (k < fraction.size() ? fraction[k] - '0' : 0);
  return value;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

}  // namespace

std::optional<IpAddress> parse_address(std::string_view text) {
  char copy[64];
  if (text.empty() || text.size() >= sizeof copy) return std::nullopt;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  if (std::strlen(copy) != text.size()) return std::nullopt;
  IpAddress address;
  const bool six = text.find(':') != std::string_view::npos;
  if (inet_pton(six ? AF_INET6 : AF_INET, copy, address.bytes.data()) != 1) return std::nullopt;
  address.family = six ? 6 : 4;
  return address;
}

std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_milliseconds(std::string_view text) {
  if (text.starts_with("0000-00-00")) return -1;
  if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos)
    text = text.substr(0, bracket);  // RFC 9557 names the zone behind the offset
  std::string whole(text.substr(0, 64));
  std::int64_t milliseconds = 0;
  if (const std::size_t point = whole.find('.'); point != std::string::npos) {
    const auto end =
        std::find_if_not(whole.begin() + std::ptrdiff_t(point) + 1, whole.end(), is_digit);
    milliseconds = milliseconds_of({whole.begin() + std::ptrdiff_t(point) + 1, end});
    whole.erase(whole.begin() + std::ptrdiff_t(point), end);
  }
  if (!whole.empty() && std::all_of(whole.begin(), whole.end(), is_digit)) {
    const auto seconds = parse_whole_number(whole);
    if (!seconds || *seconds > 253402300799) return std::nullopt;
    if (*seconds == 0 && milliseconds == 0) return -1;
    return std::int64_t(*seconds) * 1000 + milliseconds;
  }
  if (whole.size() == 19) whole += 'Z';
  const auto seconds = parse_time(whole);
  if (!seconds) return std::nullopt;
  if (*seconds == 0 && milliseconds == 0) return -1;
  return *seconds * 1000 + milliseconds;
}

std::uint8_t parse_protocol(std::string_view text) {
  if (const auto number = parse_whole_number(text); number && *number < 256)
    return std::uint8_t(*number);
  const auto same = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), text.begin(), text.end(), [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? char(b - 'A' + 'a') : b);
    });
  };
  for (const auto& [name, number] : kProtocols)
    if (same(name)) return number;
  return 0;
}

}  // namespace outlierd::ingest
