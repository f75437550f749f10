#include "config/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace outlierd::config {
namespace {

using Reason = tl::unexpected<std::string>;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::uint64_t kSecond = 1000;
constexpr Unit kDurations[] = {
    {"d", 86400 * kSecond}, {"h", 3600 * kSecond}, {"m", 60 * kSecond}, {"s", kSecond}, {"ms", 1}};
constexpr Unit kSizes[] = {
    {"TiB", 1024 * kGiB}, {"GiB", kGiB},   {"MiB", kMiB}, {"KiB", kKiB}, {"TB", 1000000000000},
    {"GB", 1000000000},   {"MB", 1000000}, {"kB", 1000},  {"KB", 1000},  {"B", 1}};

// Number and unit, with at most one space between them; nothing when it is not that, or too much.
template <std::size_t N>
std::optional<std::uint64_t> parse_with_unit(std::string_view text, const Unit (&units)[N]) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit(after, std::size_t(end - after));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    if (number > kMost / known.factor) return std::nullopt;
    return number * known.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string text_with_unit(std::uint64_t value, const Unit (&units)[N]) {
  for (const Unit& unit : units)
    if (value != 0 && value % unit.factor == 0)
      return std::to_string(value / unit.factor).append(unit.name);
  return "0" + std::string(units[N - 1].name);
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Parsed<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (const auto value = parse_with_unit(text, kDurations))
    return std::chrono::milliseconds(*value);
  if (all_digits(text) && text.size() < 10)
    return Reason("needs a unit, such as " + std::string(text) + "s (ms, s, m, h or d)");
  return Reason("must be a whole number with its unit (ms, s, m, h or d), such as 30s or 5m");
}

std::string text_of(std::chrono::milliseconds duration) {
  return text_with_unit(std::uint64_t(duration.count()), kDurations);
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  if (const auto value = parse_with_unit(text, kSizes)) return *value;
  if (all_digits(text) && text.size() < 16)
    return Reason("needs a unit, such as " + std::string(text) + "B or 64MiB");
  return Reason("must be a whole number with its unit (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB), " +
                std::string("such as 64MiB"));
}

std::string size_text(std::uint64_t bytes) { return text_with_unit(bytes, kSizes); }

Parsed<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || after != end) return Reason("must be a whole number");
  return value;
}

Parsed<double> parse_real(std::string_view text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || after != end || !std::isfinite(value))
    return Reason("must be a number");
  return value;
}

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

Parsed<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "yes") return true;
  if (text == "false" || text == "False" || text == "no") return false;
  return Reason("must be true or false");
}

Parsed<std::string> parse_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (text.empty() || text.size() > 64 || !std::all_of(text.begin(), text.end(), fits))
    return Reason("must be a name of letters, digits, . _ and -, at most 64 of them");
  return std::string(text);
}

}  // namespace outlierd::config
