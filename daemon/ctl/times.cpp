#include "daemon/ctl/times.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

namespace outlierd::ctl {
namespace {

// Takes text from the front; once something did not fit, nothing fits.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    if (rest_.size() < count) return fail();
    int value = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (rest_[k] < '0' || rest_[k] > '9') return fail();
      value = value * 10 + (rest_[k] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  bool take(std::string_view one_of) {
    if (rest_.empty() || one_of.find(rest_.front()) == std::string_view::npos) return false;
    taken_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  void expect(std::string_view one_of) {
    if (!take(one_of)) fail();
  }
  char taken() const { return taken_; }
  bool at_end() const { return rest_.empty(); }
  bool failed() const { return failed_; }

 private:
  int fail() {
    failed_ = true;
    return 0;
  }
  std::string_view rest_;
  char taken_ = 0;
  bool failed_ = false;
};

// What the zone is ahead of UTC, in seconds.
int zone(Scanner& scanner) {
  if (scanner.at_end() || scanner.take("Zz")) return 0;
  scanner.expect("+-");
  const int sign = scanner.taken() == '-' ? -1 : 1;
  const int hours = scanner.digits(2);
  scanner.take(":");
  const int minutes = scanner.digits(2);
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

std::optional<EpochSeconds> parse_time(std::string_view text) {
  Scanner scanner(text);
  const int year = scanner.digits(4);
  scanner.expect("-");
  const int month = scanner.digits(2);
  scanner.expect("-");
  const int day = scanner.digits(2);
  int hour = 0, minute = 0, second = 0, ahead = 0;
  if (!scanner.failed() && !scanner.at_end()) {
    scanner.expect("Tt ");
    hour = scanner.digits(2);
    scanner.expect(":");
    minute = scanner.digits(2);
    if (scanner.take(":")) second = scanner.digits(2);
    if (scanner.take("."))
      while (scanner.take("0")) continue;
    ahead = zone(scanner);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(unsigned(month)),
                                         std::chrono::day(unsigned(day))};
  if (scanner.failed() || !scanner.at_end() || !date.ok() || hour > 23 || minute > 59 ||
      second > 59)
    return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + hour * 3600 + minute * 60 + second - ahead;
}

std::string format_time(EpochSeconds time) {
  using namespace std::chrono;
  const sys_seconds point{seconds(time)};
  const sys_days midnight = floor<days>(point);
  const year_month_day date(midnight);
  const auto rest = (point - midnight).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int(date.year()),
                     unsigned(date.month()), unsigned(date.day()), rest / 3600, rest / 60 % 60,
                     rest % 60);
}

std::optional<int> parse_duration(std::string_view text) {
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit(end, std::size_t(last - end));
  std::int64_t scale = 0;
  if (unit.empty() || unit == "s") scale = 1;
  if (unit == "m" || unit == "min") scale = 60;
  if (unit == "h") scale = 3600;
  if (unit == "d") scale = 86400;
  if (scale == 0 || value <= 0 || value > std::numeric_limits<int>::max() / scale)
    return std::nullopt;
  return int(value * scale);
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "?";
  const auto whole = std::int64_t(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

}  // namespace outlierd::ctl
