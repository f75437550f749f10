#include "daemon/api/http_text.h"

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace outlierd::api {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Calls take(item) for each trimmed item of a comma-separated list.
template <class Take>
void for_each_item(std::string_view list, char mark, Take take) {
  while (true) {
    const std::size_t end = list.find(mark);
    take(trimmed(list.substr(0, end)));
    if (end == std::string_view::npos) return;
    list.remove_prefix(end + 1);
  }
}

bool quality_is_zero(std::string_view parameters) {
  bool zero = false;
  for_each_item(parameters, ';', [&](std::string_view parameter) {
    if (parameter.size() < 3 || !same_ignoring_case(parameter.substr(0, 2), "q=")) return;
    zero = parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
  });
  return zero;
}

__extension__ using Wide = unsigned __int128;

// Both halves of a product: the upper depends on the lower bits, the lower on none but them.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  const Wide product = Wide(hash ^ word) * 0x9E3779B97F4A7C15ull;
  return std::uint64_t(product) ^ std::uint64_t(product >> 64);
}

// Four words a step, each in a chain of its own: a checksum's bit-by-bit guarantees would cost more
// than the rest of an answer. Not for what an adversary may choose.
std::uint64_t fast_hash(std::string_view text) {
  std::array<std::uint64_t, 4> lanes = {text.size(), 0x243F6A8885A308D3, 0x13198A2E03707344,
                                        0xA4093822299F31D0};  // of pi
  std::array<std::uint64_t, 4> words{};
  for (; text.size() >= sizeof words; text.remove_prefix(sizeof words)) {
    std::memcpy(words.data(), text.data(), sizeof words);
    for (std::size_t k = 0; k < 4; ++k) lanes[k] = mixed(lanes[k], words[k]);
  }
  words = {};
  std::memcpy(words.data(), text.data(), text.size());
  std::uint64_t hash = 0;
  for (std::size_t k = 0; k < 4; ++k) hash = mixed(mixed(hash, lanes[k]), words[k]);
  return hash;
}

}  // namespace

bool same_ignoring_case(std::string_view x, std::string_view y) {
  if (x.size() != y.size()) return false;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (lower(x[k]) != lower(y[k])) return false;
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '%') {
      if (k + 2 >= text.size()) return std::nullopt;
      const int high = digit(text[k + 1]), low = digit(text[k + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += char(high * 16 + low);
      k += 2;
    } else {
      decoded += text[k] == '+' && plus_is_space ? ' ' : text[k];
    }
  }
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(
    std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  bool damaged = false;
  for_each_item(query, '&', [&](std::string_view item) {
    if (item.empty()) return;
    const std::size_t mark = item.find('=');
    auto name = percent_decoded(item.substr(0, mark), true);
    auto value = percent_decoded(
        mark == std::string_view::npos ? std::string_view() : item.substr(mark + 1), true);
    if (!name || !value) {
      damaged = true;
      return;
    }
    pairs.emplace_back(std::move(*name), std::move(*value));
  });
  if (damaged) return std::nullopt;
  return pairs;
}

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<bool> named, any;
  for_each_item(accept_encoding, ',', [&](std::string_view item) {
    const std::size_t mark = item.find(';');
    const std::string_view coding = trimmed(item.substr(0, mark));
    const bool wanted = mark == std::string_view::npos || !quality_is_zero(item.substr(mark + 1));
    if (same_ignoring_case(coding, "gzip") || same_ignoring_case(coding, "x-gzip")) named = wanted;
    if (coding == "*") any = wanted;
  });
  return named.value_or(any.value_or(false));
}

bool names_tag(std::string_view if_none_match, std::string_view tag) {
  const auto opaque = [](std::string_view text) {
    return text.starts_with("W/") ? text.substr(2) : text;
  };
  bool found = false;
  for_each_item(if_none_match, ',', [&](std::string_view item) {
    found = found || item == "*" || (!item.empty() && opaque(item) == opaque(tag));
  });
  return found;
}

std::string weak_tag(std::string_view body) {
  char text[24];
  std::snprintf(text, sizeof text, "W/\"%016llx\"",
                static_cast<unsigned long long>(fast_hash(body)));
  return text;
}

std::string gzip(std::string_view text) {
  constexpr int kGzipWindow = 15 + 16;        // 16: a gzip header, not zlib's
  constexpr std::size_t kLarge = 256 * 1024;  // from here on speed counts more than size
  z_stream stream{};
  if (deflateInit2(&stream, text.size() > kLarge ? 1 : 6, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string out(deflateBound(&stream, uLong(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  const bool finished = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(finished ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

std::string http_date(long long epoch_seconds) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = std::time_t(epoch_seconds);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                kDays[std::size_t(parts.tm_wday)], parts.tm_mday,
                kMonths[std::size_t(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                parts.tm_min, parts.tm_sec);
  return text;
}

std::string media_type(std::string_view content_type) {
  std::string type(trimmed(content_type.substr(0, content_type.find(';'))));
  for (char& c : type) c = lower(c);
  return type;
}

bool valid_utf8(std::string_view text) {
  for (std::size_t k = 0; k < text.size();) {
    const auto first = static_cast<unsigned char>(text[k]);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xC2 && first < 0xE0 ? 2
                               : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4
                                                               : 0;
    if (length == 0 || k + length > text.size()) return false;
    for (std::size_t i = 1; i < length; ++i)
      if ((static_cast<unsigned char>(text[k + i]) & 0xC0) != 0x80) return false;
    const auto second = length > 1 ? static_cast<unsigned char>(text[k + 1]) : 0;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return false;
    k += length;
  }
  return true;
}

}  // namespace outlierd::api
