#pragma once
// Values as collectors write them in JSON: addresses, prefixes, times, protocols. Total.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/traffic/flow_record.h"

namespace outlierd::ingest {

std::optional<IpAddress> parse_address(std::string_view text);
// "2022-09-29 20:08:16.000000", also with T and a zone (UTC where there is none), or seconds since
// the epoch "1664491696.000000": milliseconds. Zero ("0000-00-00 00:00:00") is -1, not given.
std::optional<std::int64_t> parse_milliseconds(std::string_view text);
// "tcp", "TCP" or "6"; 0 for a name that is not known.
std::uint8_t parse_protocol(std::string_view text);
std::optional<std::uint64_t> parse_whole_number(std::string_view text);  // decimal, or 0x...

}  // namespace outlierd::ingest
