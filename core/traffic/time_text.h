#pragma once
// Points in time as RFC 3339 text and back. Total; no clock, no time zone but the one in the text.

#include <optional>
#include <string>
#include <string_view>

#include "core/traffic/network.h"

namespace outlierd {

// "2004-03-01T00:05:00Z", also with an offset ("+01:00"), a space or lower case for T and Z, and a
// fraction, which must be zero: bins start on whole seconds. Years 1 to 9999.
std::optional<EpochSeconds> parse_time(std::string_view text);

std::string time_text(EpochSeconds time);  // "2004-03-01T00:05:00Z"

}  // namespace outlierd
