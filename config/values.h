#pragma once
// Single values as the configuration writes them, and back. Parsers are total: a value, or what
// would be right; what text_of gives is parsed to the same value.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "config/schema.h"

namespace outlierd::config {

template <class T>
using Parsed = tl::expected<T, std::string>;

// A whole number and its unit: 500ms, 30s, 5m, 1h, 30d.
Parsed<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string text_of(std::chrono::milliseconds duration);

// A whole number and its unit: B, KiB, MiB, GiB, TiB, or kB, MB, GB, TB.
Parsed<std::uint64_t> parse_size(std::string_view text);
std::string size_text(std::uint64_t bytes);

Parsed<std::int64_t> parse_whole(std::string_view text);
Parsed<double> parse_real(std::string_view text);  // finite
std::string text_of(double value);                 // the shortest that reads back the same
Parsed<bool> parse_bool(std::string_view text);

// Of networks and nodes: letters, digits, . _ -, one to 64 of them.
Parsed<std::string> parse_name(std::string_view text);

template <class Enum>
struct Named {
  const char* name;
  Enum value;
};
inline constexpr Named<FlowProtocol> kProtocols[] = {{"netflow", FlowProtocol::kNetflow},
                                                     {"sflow", FlowProtocol::kSflow},
                                                     {"json", FlowProtocol::kJson}};
inline constexpr Named<LogLevel> kLevels[] = {{"trace", LogLevel::kTrace},
                                              {"debug", LogLevel::kDebug},
                                              {"info", LogLevel::kInfo},
                                              {"warn", LogLevel::kWarn},
                                              {"error", LogLevel::kError}};
inline constexpr Named<LogFormat> kFormats[] = {{"text", LogFormat::kText},
                                                {"json", LogFormat::kJson}};

template <class Enum, std::size_t N>
const char* name_in(const Named<Enum> (&names)[N], Enum value) {
  for (const auto& named : names)
    if (named.value == value) return named.name;
  return "";
}

}  // namespace outlierd::config
