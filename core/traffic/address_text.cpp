#include "core/traffic/address_text.h"

#include <algorithm>
#include <cstdio>

namespace outlierd {
namespace {

std::string six_text(const std::array<std::uint8_t, 16>& bytes) {
  const auto group = [&](int k) {
    return bytes[std::size_t(2 * k)] << 8 | bytes[std::size_t(2 * k + 1)];
  };
  int best = -1, longest = 1;  // the longest run of zero groups, if of two or more
  for (int first = 0; first < 8; ++first) {
    int length = 0;
    while (first + length < 8 && group(first + length) == 0) ++length;
    if (length > longest) {
      longest = length;
      best = first;
    }
  }
  std::string text;
  for (int k = 0; k < 8; ++k) {
    if (k == best) {
      text += "::";
      k += longest - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    char digits[8];
    std::snprintf(digits, sizeof digits, "%x", unsigned(group(k)));
    text += digits;
  }
  return text;
}

}  // namespace

std::string address_text(const IpAddress& address) {
  if (address.family == 6) return six_text(address.bytes);
  if (address.family != 4) return {};
  std::string text;
  for (std::size_t byte = 0; byte < 4; ++byte)
    text += (byte ? "." : "") + std::to_string(address.bytes[byte]);
  return text;
}

std::string prefix_text(IpAddress address, int length) {
  if (address.family == 0) return {};
  const int whole = address.family == 6 ? 128 : 32;
  for (int byte = 0; byte < 16; ++byte) {
    const int kept = std::clamp(length - 8 * byte, 0, 8);
    address.bytes[std::size_t(byte)] &= std::uint8_t(0xff << (8 - kept));
  }
  std::string text = address_text(address);
  if (length < whole) text += "/" + std::to_string(length);
  return text;
}

}  // namespace outlierd
