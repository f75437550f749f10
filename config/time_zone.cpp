#include "config/time_zone.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>

namespace outlierd::config {
namespace {

using Reason = tl::unexpected<std::string>;

constexpr const char* kFolder = "/usr/share/zoneinfo";
constexpr std::size_t kLargestZoneFile = 1 << 20;
constexpr int kDay = 86400;

// Big-endian numbers from the front; past the end they are zero and failed() says so.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> rest) : rest_(rest) {}

  std::span<const std::byte> take(std::size_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::int64_t number(std::size_t size) {  // signed
    std::uint64_t value = 0;
    const auto bytes = take(size);
    if (bytes.empty()) return 0;
    for (std::byte byte : bytes) value = value << 8 | std::uint64_t(byte);
    const unsigned unused = unsigned(64 - 8 * size);
    return std::int64_t(value << unused) >> unused;
  }
  std::string_view rest() const {
    return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
  }
  bool failed() const { return failed_; }

 private:
  std::span<const std::byte> rest_;
  bool failed_ = false;
};

struct Header {
  char version = 0;
  std::size_t is_utc = 0, is_standard = 0, leaps = 0, times = 0, types = 0, letters = 0;

  std::size_t body(std::size_t time_size) const {
    return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + is_standard +
           is_utc;
  }
};

std::optional<Header> read_header(Bytes& bytes) {
  if (!bytes.rest().starts_with("TZif")) return std::nullopt;
  bytes.take(4);
  Header header;
  header.version = char(bytes.number(1));
  bytes.take(15);
  for (std::size_t* count : {&header.is_utc, &header.is_standard, &header.leaps, &header.times,
                             &header.types, &header.letters}) {
    const std::int64_t number = bytes.number(4);
    if (number < 0 || number > std::int64_t(kLargestZoneFile)) return std::nullopt;
    *count = std::size_t(number);
  }
  if (bytes.failed() || header.types == 0) return std::nullopt;
  return header;
}

// A cursor over a TZ rule.
class RuleText {
 public:
  explicit RuleText(std::string_view text) : rest_(text) {}

  bool ended() const { return rest_.empty(); }
  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool skip(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool name() {  // three letters or more, or anything between < and >
    const bool quoted = skip('<');
    std::size_t length = 0;
    const auto letter = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
    };
    while (length < rest_.size() && letter(rest_[length])) ++length;
    rest_.remove_prefix(length);
    return length >= 3 && (!quoted || skip('>'));
  }
  std::optional<int> number(int low, int high) {
    int value = 0, digits = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9' && digits < 4; ++digits) {
      value = 10 * value + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (digits == 0 || value < low || value > high) return std::nullopt;
    return value;
  }
  std::optional<int> time() {  // [+-]h[:m[:s]] in seconds
    const bool negative = skip('-');
    if (!negative) skip('+');
    const auto hours = number(0, 167);
    if (!hours) return std::nullopt;
    int seconds = *hours * 3600;
    for (int unit : {60, 1}) {
      if (!skip(':')) break;
      const auto part = number(0, 59);
      if (!part) return std::nullopt;
      seconds += *part * unit;
    }
    return negative ? -seconds : seconds;
  }

 private:
  std::string_view rest_;
};

std::optional<YearlyDate> read_date(RuleText& text) {
  YearlyDate date;
  std::optional<int> day;
  if (text.skip('M')) {
    const auto month = text.number(1, 12);
    if (!month || !text.skip('.')) return std::nullopt;
    const auto week = text.number(1, 5);
    if (!week || !text.skip('.')) return std::nullopt;
    date.month = *month;
    date.week = *week;
    day = text.number(0, 6);
  } else if (text.skip('J')) {
    date.kind = YearlyDate::Kind::kDayWithoutLeap;
    day = text.number(1, 365);
  } else {
    date.kind = YearlyDate::Kind::kDayWithLeap;
    day = text.number(0, 365);
  }
  if (!day) return std::nullopt;
  date.day = *day;
  if (text.skip('/')) {
    const auto seconds = text.time();
    if (!seconds) return std::nullopt;
    date.seconds = *seconds;
  }
  return date;
}

// The moment in a year, as if its local time were UTC.
EpochSeconds moment(const YearlyDate& date, std::chrono::year year) {
  namespace chrono = std::chrono;
  chrono::sys_days day;
  if (date.kind == YearlyDate::Kind::kMonthWeekDay) {
    const auto month = year / chrono::month(unsigned(date.month));
    const chrono::weekday weekday{unsigned(date.day)};
    day = date.week == 5 ? chrono::sys_days(month / weekday[chrono::last])
                         : chrono::sys_days(month / weekday[unsigned(date.week)]);
  } else {
    int days = date.day;
    if (date.kind == YearlyDate::Kind::kDayWithoutLeap && !(year.is_leap() && days >= 60)) --days;
    day = chrono::sys_days(year / chrono::January / 1) + chrono::days(days);
  }
  return EpochSeconds(day.time_since_epoch().count()) * kDay + date.seconds;
}

bool is_zone_name(std::string_view name) {
  bool part_begins = true;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other = (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-';
    if (c == '/' ? part_begins : !(letter || (other && !part_begins))) return false;
    part_begins = c == '/';
  }
  return !part_begins && name.size() <= 128;
}

}  // namespace

int TimeZoneRule::offset_at(EpochSeconds time) const {
  if (!has_daylight) return standard_offset;
  // Years the calendar knows; any time beyond has its offset at the nearest of them.
  constexpr EpochSeconds kFar = EpochSeconds{30000} * 365 * kDay;
  const EpochSeconds near = std::clamp(time, -kFar, kFar);
  const EpochSeconds local = near + standard_offset;
  const EpochSeconds day = local >= 0 ? local / kDay : -((kDay - 1 - local) / kDay);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  const EpochSeconds from = moment(start, date.year()) - standard_offset;
  const EpochSeconds to = moment(end, date.year()) - daylight_offset;
  const bool daylight = from < to ? from <= near && near < to : !(to <= near && near < from);
  return daylight ? daylight_offset : standard_offset;
}

std::optional<TimeZoneRule> parse_time_zone_rule(std::string_view rule) {
  RuleText text(rule);
  TimeZoneRule parsed;
  if (!text.name()) return std::nullopt;
  const auto west = text.time();  // POSIX counts westward
  if (!west) return std::nullopt;
  parsed.standard_offset = -*west;
  if (text.ended()) return parsed;

  parsed.has_daylight = true;
  parsed.daylight_offset = parsed.standard_offset + 3600;
  if (!text.name()) return std::nullopt;
  if (!text.at(',')) {
    const auto daylight_west = text.time();
    if (!daylight_west) return std::nullopt;
    parsed.daylight_offset = -*daylight_west;
  }
  for (YearlyDate* date : {&parsed.start, &parsed.end}) {
    if (!text.skip(',')) return std::nullopt;
    const auto read = read_date(text);
    if (!read) return std::nullopt;
    *date = *read;
  }
  if (!text.ended()) return std::nullopt;
  return parsed;
}

tl::expected<TimeZone, std::string> TimeZone::parse(std::span<const std::byte> tzif) {
  const Reason damaged(std::string("is not a zone file that can be read (TZif)"));
  Bytes bytes(tzif);
  auto header = read_header(bytes);
  if (!header) return damaged;
  std::size_t time_size = 4;
  if (header->version >= '2') {  // the same again, with 64-bit times
    bytes.take(header->body(4));
    header = read_header(bytes);
    if (!header) return damaged;
    time_size = 8;
  }
  if (header->body(time_size) > bytes.rest().size()) return damaged;

  TimeZone zone;
  for (std::size_t k = 0; k < header->times; ++k)
    zone.transitions_.push_back(bytes.number(time_size));
  if (!std::is_sorted(zone.transitions_.begin(), zone.transitions_.end())) return damaged;
  const auto indices = bytes.take(header->times);
  std::vector<int> offset_of_type;
  for (std::size_t k = 0; k < header->types; ++k) {
    const std::int64_t offset = bytes.number(4);
    if (offset < -2 * kDay || offset > 2 * kDay) return damaged;
    offset_of_type.push_back(int(offset));
    bytes.take(2);
  }
  for (std::byte index : indices) {
    if (std::size_t(index) >= offset_of_type.size()) return damaged;
    zone.offsets_.push_back(offset_of_type[std::size_t(index)]);
  }
  zone.first_offset_ = offset_of_type.front();
  bytes.take(header->letters + header->leaps * (time_size + 4) + header->is_standard +
             header->is_utc);
  if (bytes.failed()) return damaged;
  if (time_size == 4) return zone;

  std::string_view footer = bytes.rest();
  if (footer.size() < 2 || footer.front() != '\n') return damaged;
  footer.remove_prefix(1);
  const std::size_t end = footer.find('\n');
  if (end == footer.npos) return damaged;
  if (end == 0) return zone;  // no rule: the last offset stays
  zone.rule_ = parse_time_zone_rule(footer.substr(0, end));
  if (!zone.rule_) return damaged;
  return zone;
}

tl::expected<TimeZone, std::string> TimeZone::load(std::string_view name) {
  if (name == "UTC") return TimeZone();
  const Reason unknown(
      std::string("must be the name of a time zone, such as UTC or Europe/Berlin"));
  if (!is_zone_name(name)) return unknown;
  std::error_code error;
  if (!std::filesystem::is_directory(kFolder, error))
    return Reason(std::string("needs the zone files in ") + kFolder +
                  ", which are not there: install tzdata, or use UTC");
  const auto file = std::filesystem::path(kFolder) / name;
  if (!std::filesystem::is_regular_file(file, error)) return unknown;
  std::ifstream in(file, std::ios::binary);
  std::vector<char> content(kLargestZoneFile);
  in.read(content.data(), std::streamsize(content.size()));
  const auto bytes = std::as_bytes(std::span(content)).first(std::size_t(in.gcount()));
  if (bytes.empty()) return Reason(file.string() + " cannot be read");
  auto zone = parse(bytes);
  if (!zone) return Reason(file.string() + " " + zone.error());
  return zone;
}

int TimeZone::offset_at(EpochSeconds time) const {
  if (transitions_.empty()) return rule_ ? rule_->offset_at(time) : first_offset_;
  const auto after = std::upper_bound(transitions_.begin(), transitions_.end(), time);
  if (after == transitions_.begin()) return first_offset_;
  if (after == transitions_.end() && rule_) return rule_->offset_at(time);
  return offsets_[std::size_t(after - transitions_.begin()) - 1];
}

std::optional<int> local_offset(std::string_view time_zone, EpochSeconds time) {
  const auto zone = TimeZone::load(time_zone);
  if (!zone) return std::nullopt;
  return zone->offset_at(time);
}

}  // namespace outlierd::config
