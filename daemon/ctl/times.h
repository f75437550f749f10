#pragma once
// Times and durations as people and files write them. Total functions: what cannot be understood is
// nothing. No clock is read here.

#include <optional>
#include <string>
#include <string_view>

#include "core/traffic/network.h"

namespace outlierd::ctl {

// 2004-03-01T00:05:00Z, also with an offset (+01:00), a blank for the T, without seconds or with
// a fraction of zero; 2004-03-01 is its midnight. Without a zone it is UTC.
std::optional<EpochSeconds> parse_time(std::string_view text);
std::string format_time(EpochSeconds time);  // 2004-03-01T00:05:00Z

// 5m, 30s, 1h, 2d; a number alone is seconds. Whole seconds, more than none.
std::optional<int> parse_duration(std::string_view text);
std::string format_duration(double seconds);  // for people: 42 s, 3 min 20 s, 2 h 5 min, 3 d 4 h

}  // namespace outlierd::ctl
