#include "daemon/api/router.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "daemon/api/http_text.h"
#include "daemon/api/json_writer.h"
#include "daemon/api/time_text.h"

namespace outlierd::api {
namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string quoted(std::string_view text) {
  JsonWriter json;
  json.string(text.substr(0, 64));
  return json.take();
}

std::string number_text(double value) {
  JsonWriter json;
  json.number(value);
  return json.take();
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

bool holds(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Empty when the value will do.
std::string wrong_with(const Parameter& parameter, std::string_view value) {
  switch (parameter.kind) {
    case ParameterKind::kText:
      if (value.empty()) return "is empty";
      if (value.size() > kLongestText) return "is longer than 256 bytes";
      return valid_utf8(value) && value.find('\0') == std::string_view::npos ? "" : "is not text";
    case ParameterKind::kTime:
      return time_of(value) ? "" : "is not a time such as 2004-03-01T00:05:00Z";
    case ParameterKind::kInteger: {
      const auto number = parse<std::int64_t>(value);
      const bool fits =
          number && double(*number) >= parameter.low && double(*number) <= parameter.high;
      return fits ? ""
                  : "must be a whole number between " + number_text(parameter.low) + " and " +
                        number_text(parameter.high);
    }
    case ParameterKind::kNumber: {
      const auto number = parse<double>(value);
      const bool fits = number && *number >= parameter.low && *number <= parameter.high;
      return fits ? ""
                  : "must be a number between " + number_text(parameter.low) + " and " +
                        number_text(parameter.high);
    }
    case ParameterKind::kChoice:
      return holds(parameter.choices, value) ? "" : "must be one of " + joined(parameter.choices);
    case ParameterKind::kChoices: {
      std::set<std::string_view> seen;
      for (std::string_view word : split(value, ','))
        if (!holds(parameter.choices, word) || !seen.insert(word).second)
          return "must be some of " + joined(parameter.choices) + ", separated by commas";
      return "";
    }
    case ParameterKind::kCursor:
      return place_of(value) ? "" : "is not a cursor that was given out here";
  }
  return "";
}

const Parameter* find(const Route& route, std::string_view name) {
  for (const Parameter& parameter : route.parameters)
    if (parameter.place == ParameterPlace::kQuery && parameter.name == name) return &parameter;
  return nullptr;
}

std::string unknown_parameter(const Route& route, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Parameter& parameter : route.parameters)
    if (parameter.place == ParameterPlace::kQuery) known.push_back(parameter.name);
  std::string reason = quoted(name) + " is not a parameter here";
  if (known.empty()) return reason + "; it takes none";
  if (const auto near = nearest(name, known); !near.empty())
    return reason + " (did you mean " + std::string(near) + "?)";
  return reason + "; it takes " + joined(known);
}

struct Pattern {
  const Route* route;
  std::vector<std::string_view> parts;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> made;
    for (const Route& route : routes()) made.push_back({&route, split(route.pattern, '/')});
    return made;
  }();
  return all;
}

bool fits(const Pattern& pattern, const std::vector<std::string_view>& parts,
          std::map<std::string, std::string>& path) {
  if (pattern.parts.size() != parts.size()) return false;
  path.clear();
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string_view wanted = pattern.parts[k];
    if (!wanted.starts_with('{')) {
      if (parts[k] != wanted) return false;
      continue;
    }
    const auto value = percent_decoded(parts[k], false);
    if (!value || value->empty()) return false;
    path[std::string(wanted.substr(1, wanted.size() - 2))] = *value;
  }
  return true;
}

}  // namespace

std::optional<std::string> Arguments::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::optional<EpochSeconds> Arguments::time(std::string_view name) const {
  const auto value = text(name);
  return value ? time_of(*value) : std::nullopt;
}

std::optional<std::int64_t> Arguments::integer(std::string_view name) const {
  const auto value = text(name);
  return value ? parse<std::int64_t>(*value) : std::nullopt;
}

std::optional<double> Arguments::number(std::string_view name) const {
  const auto value = text(name);
  return value ? parse<double>(*value) : std::nullopt;
}

std::optional<Place> Arguments::place(std::string_view name) const {
  const auto value = text(name);
  return value ? place_of(*value) : std::nullopt;
}

TimeRange Arguments::range() const {
  TimeRange range;
  range.from = time("from").value_or(range.from);
  range.to = time("to").value_or(range.to);
  return range;
}

std::size_t Arguments::limit() const { return std::size_t(integer("limit").value_or(100)); }

Match match(std::string_view method, std::string_view encoded_path) {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const auto parts = split(encoded_path, '/');
  Match result;
  std::map<std::string, std::string> path;
  for (const Pattern& pattern : patterns()) {
    if (!fits(pattern, parts, path)) continue;
    if (pattern.route->method == wanted) {
      result.route = pattern.route;
      result.path = std::move(path);
      return result;
    }
    result.allow.append(result.allow.empty() ? "" : ", ").append(pattern.route->method);
    if (pattern.route->method == "GET") result.allow += ", HEAD";
  }
  if (!result.allow.empty()) result.allow += ", OPTIONS";
  return result;
}

tl::expected<Arguments, std::string> arguments_of(const Route& route, const Match& match,
                                                  std::string_view query) {
  Arguments arguments;
  for (const auto& [name, value] : match.path) {
    if (value.size() > kLongestText || !valid_utf8(value))
      return tl::unexpected(name + " in the path is not text of at most 256 bytes");
    arguments.set(name, value);
  }
  const auto pairs = parse_query(query);
  if (!pairs)
    return tl::unexpected<std::string>("the query has a % without two hexadecimal digits");
  for (const auto& [name, value] : *pairs) {
    const Parameter* parameter = find(route, name);
    if (!parameter) return tl::unexpected(unknown_parameter(route, name));
    if (arguments.text(name)) return tl::unexpected(name + " is given twice");
    if (const std::string wrong = wrong_with(*parameter, value); !wrong.empty())
      return tl::unexpected(name + " " + wrong);
    arguments.set(name, value);
  }
  for (const Parameter& parameter : route.parameters)
    if (parameter.required && !arguments.text(parameter.name))
      return tl::unexpected(std::string(parameter.name) + " is needed");
  if (const TimeRange range = arguments.range(); range.from >= range.to)
    return tl::unexpected<std::string>("from must lie before to");
  return arguments;
}

std::string cursor_of(const Place& place) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string cursor;
  for (char c : std::to_string(place.time) + "." + place.id) {
    cursor += kHex[static_cast<unsigned char>(c) >> 4];
    cursor += kHex[static_cast<unsigned char>(c) & 15];
  }
  return cursor;
}

std::optional<Place> place_of(std::string_view cursor) {
  std::string encoded;
  if (cursor.size() % 2 != 0 || cursor.size() > 2 * kLongestText) return std::nullopt;
  for (std::size_t k = 0; k < cursor.size(); k += 2)
    encoded.append("%").append(cursor.substr(k, 2));
  const auto text = percent_decoded(encoded, false);
  if (!text || !valid_utf8(*text)) return std::nullopt;
  const std::size_t mark = text->find('.');
  const auto time = parse<EpochSeconds>(std::string_view(*text).substr(0, mark));
  if (mark == std::string::npos || !time) return std::nullopt;
  return Place{*time, text->substr(mark + 1)};
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t least = 3;  // two slips at most
  for (std::string_view candidate : known) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < std::min(word.size(), kLongestText); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t replaced = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
      }
    }
    if (row.back() < least && row.back() < candidate.size()) {
      least = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace outlierd::api
