#include "core/traffic/time_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace outlierd {
namespace {

constexpr std::int64_t kDay = 86400;

// Days since 1970-01-01 of a date in the Gregorian calendar, counted in eras of 400 years that
// begin on March 1st, so that the leap day is the last of its year.
std::int64_t days_of(int year, int month, int day) {
  const int y = month <= 2 ? year - 1 : year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

int days_in(int year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[std::size_t(month - 1)] + (month == 2 && leap ? 1 : 0);
}

struct Cursor {
  std::string_view rest;
  bool ok = true;

  int number(std::size_t digits) {
    if (rest.size() < digits) return fail();
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest[i] < '0' || rest[i] > '9') return fail();
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(digits);
    return value;
  }
  char one_of(std::string_view allowed) {
    if (rest.empty() || allowed.find(rest.front()) == std::string_view::npos) return char(fail());
    const char found = rest.front();
    rest.remove_prefix(1);
    return found;
  }
  int fail() {
    ok = false;
    return 0;
  }
};

}  // namespace

std::optional<EpochSeconds> parse_time(std::string_view text) {
  Cursor at{text};
  const int year = at.number(4);
  at.one_of("-");
  const int month = at.number(2);
  at.one_of("-");
  const int day = at.number(2);
  at.one_of("Tt ");
  const int hour = at.number(2);
  at.one_of(":");
  const int minute = at.number(2);
  at.one_of(":");
  const int second = at.number(2);
  if (at.ok && !at.rest.empty() && at.rest.front() == '.') {
    at.rest.remove_prefix(1);
    if (at.rest.empty() || at.rest.front() != '0') return std::nullopt;
    while (!at.rest.empty() && at.rest.front() == '0') at.rest.remove_prefix(1);
  }
  const char zone = at.one_of("Zz+-");
  std::int64_t offset = 0;
  if (zone == '+' || zone == '-') {
    const int hours = at.number(2);
    at.one_of(":");
    const int minutes = at.number(2);
    if (hours > 23 || minutes > 59) return std::nullopt;
    offset = (hours * 3600 + minutes * 60) * (zone == '+' ? 1 : -1);
  }
  if (!at.ok || !at.rest.empty() || year < 1 || month < 1 || month > 12) return std::nullopt;
  if (day < 1 || day > days_in(year, month) || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  return days_of(year, month, day) * kDay + hour * 3600 + minute * 60 + second - offset;
}

std::string time_text(EpochSeconds time) {
  const std::int64_t days = (time >= 0 ? time : time - (kDay - 1)) / kDay;
  const std::int64_t seconds = time - days * kDay;
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%04lld-%02d-%02dT%02d:%02d:%02dZ",
                                   static_cast<long long>(year), int(month),
                                   int(day_of_year - (153 * shifted_month + 2) / 5 + 1),
                                   int(seconds / 3600), int(seconds / 60 % 60), int(seconds % 60));
  return {text.data(), std::size_t(length)};
}

}  // namespace outlierd
