#include "daemon/api/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace outlierd::api {
namespace {

constexpr std::int64_t kFirst = -62167219200;  // 0000-01-01T00:00:00Z
constexpr std::int64_t kLast = 253402300799;   // 9999-12-31T23:59:59Z

// `count` digits at the front of text, taken off it; -1 when they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (text[k] < '0' || text[k] > '9') return -1;
    value = value * 10 + (text[k] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Seconds that the written time is ahead of UTC.
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return 0;
  if (text.empty()) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  if (!take(text, "+- ")) return std::nullopt;
  const int hours = take_digits(text, 2);
  if (!take(text, ":")) return std::nullopt;
  const int minutes = take_digits(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

std::string time_text(std::int64_t epoch_seconds) {
  using namespace std::chrono;
  const sys_seconds moment{seconds(std::clamp(epoch_seconds, kFirst, kLast))};
  const auto day = floor<days>(moment);
  const year_month_day date(day);
  const hh_mm_ss clock(moment - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(clock.hours().count()),
                int(clock.minutes().count()), int(clock.seconds().count()));
  return text;
}

std::optional<std::int64_t> time_of(std::string_view text) {
  using namespace std::chrono;
  const int y = take_digits(text, 4);
  if (y < 0 || !take(text, "-")) return std::nullopt;
  const int m = take_digits(text, 2);
  if (m < 0 || !take(text, "-")) return std::nullopt;
  const int d = take_digits(text, 2);
  if (d < 0 || !take(text, "Tt")) return std::nullopt;
  const int hour = take_digits(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ":")) return std::nullopt;
  const int minute = take_digits(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ":")) return std::nullopt;
  const int second = take_digits(text, 2);
  if (second < 0 || second > 60) return std::nullopt;
  if (take(text, ".")) {
    if (take_digits(text, 1) < 0) return std::nullopt;
    while (take_digits(text, 1) >= 0) continue;
  }
  const std::optional<int> offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const year_month_day date{year(y), month(unsigned(m)), day(unsigned(d))};
  if (!date.ok()) return std::nullopt;
  return sys_days(date).time_since_epoch().count() * 86400LL + hour * 3600 + minute * 60 + second -
         *offset;
}

}  // namespace outlierd::api
