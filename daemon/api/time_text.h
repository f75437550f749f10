#pragma once
// RFC 3339 times and seconds since the epoch. Years 0 to 9999.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlierd::api {

// "2004-03-01T00:05:00Z"; what lies outside the years 0 to 9999 is shown as the nearest that is in.
std::string time_text(std::int64_t epoch_seconds);

// Date, T or t, time, optional fraction (dropped), Z or an offset. A space stands for the plus of
// an offset too: that is what + becomes in a query string. Leap seconds count as the next second.
std::optional<std::int64_t> time_of(std::string_view text);

}  // namespace outlierd::api
