#pragma once
// How far a time zone is ahead of UTC, from the machine's zone files (TZif, RFC 8536), with the
// rule of the file's footer for times past its table. "UTC" needs no file.
//
// A plain value, safe to share between threads. Loading is total: a zone or a reason.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd::config {

// When daylight saving begins or ends in a year, as in "M3.5.0/2" of POSIX's TZ.
struct YearlyDate {
  enum class Kind { kMonthWeekDay, kDayWithoutLeap, kDayWithLeap };
  Kind kind = Kind::kMonthWeekDay;
  int month = 1, week = 1, day = 0;  // day: of the week (0 Sunday), or of the year
  int seconds = 7200;                // local time past midnight of that day, may be negative
};

struct TimeZoneRule {
  int standard_offset = 0;  // ahead of UTC, in seconds
  bool has_daylight = false;
  int daylight_offset = 0;
  YearlyDate start, end;  // of daylight saving

  int offset_at(EpochSeconds time) const;
};
// What POSIX calls TZ, with RFC 8536's wider hours: "CET-1CEST,M3.5.0,M10.5.0/3".
std::optional<TimeZoneRule> parse_time_zone_rule(std::string_view text);

class TimeZone {
 public:
  TimeZone() = default;  // UTC

  // A name such as Europe/Berlin; it cannot lead out of the folder of zone files.
  static tl::expected<TimeZone, std::string> load(std::string_view name);
  static tl::expected<TimeZone, std::string> parse(std::span<const std::byte> tzif);

  int offset_at(EpochSeconds time) const;  // ahead of UTC, in seconds

 private:
  std::vector<EpochSeconds> transitions_;  // ascending
  std::vector<int> offsets_;               // from each transition on
  int first_offset_ = 0;                   // before the first
  std::optional<TimeZoneRule> rule_;       // from the last on
};

// For one question; whoever asks for every slice keeps the TimeZone. None: no such zone.
std::optional<int> local_offset(std::string_view time_zone, EpochSeconds time);

}  // namespace outlierd::config
