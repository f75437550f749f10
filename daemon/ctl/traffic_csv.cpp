#include "daemon/ctl/traffic_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr std::size_t kBlock = 1 << 20;
constexpr std::size_t kLongestLine = std::size_t{1} << 30;
constexpr std::size_t kLookAheadBytes = std::size_t{8} << 20;
constexpr int kLookAheadLines = 1000;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// As it stands in the file, in quotes, cut where it is long.
std::string quoted_field(std::string_view field) {
  constexpr std::size_t kMost = 40;
  return field.size() <= kMost ? fmt::format("\"{}\"", field)
                               : fmt::format("\"{}...\"", field.substr(0, kMost));
}

std::string_view without_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(',', begin);
    fields.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

std::string what_is_wrong_with(std::string_view field) {
  double value = 0.0;
  const char* const last = field.data() + field.size();
  const auto [end, error] = std::from_chars(field.data(), last, value);
  if (end == last && error == std::errc::result_out_of_range)
    return quoted_field(field) + " is beyond what a number can hold";
  if (end == last && error == std::errc{})
    return quoted_field(field) + " is not a value; a cell that was not observed is left empty";
  return quoted_field(field) + " is not a number";
}

template <class Number>
void append_shortest(std::string& text, Number value) {
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, written.ptr);
}

}  // namespace

void append_number(std::string& text, double value) { append_shortest(text, value); }
void append_number(std::string& text, float value) { append_shortest(text, value); }

tl::expected<TrafficColumns, std::string> columns_of(std::vector<std::string> names) {
  TrafficColumns columns;
  std::unordered_map<std::string, int> node_index;
  std::unordered_map<std::string, std::size_t> seen;
  const auto index_of = [&](const std::string& node) {
    const auto [place, is_new] = node_index.try_emplace(node, int(columns.nodes.size()));
    if (is_new) columns.nodes.push_back(node);
    return place->second;
  };
  if (names.empty())
    return tl::unexpected(std::string("the header names no ORIGIN>DESTINATION pair"));
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string& name = names[k];
    const std::size_t mark = name.find('>');
    if (mark == std::string::npos || mark == 0 || mark + 1 == name.size() ||
        name.find('>', mark + 1) != std::string::npos)
      return tl::unexpected(
          fmt::format("column {}, {}, is not ORIGIN>DESTINATION", k + 2, quoted_field(name)));
    const auto [first, is_new] = seen.try_emplace(name, k);
    if (!is_new)
      return tl::unexpected(fmt::format("column {}, {}, is already column {}", k + 2,
                                        quoted_field(name), first->second + 2));
    const int origin = index_of(name.substr(0, mark));
    columns.pairs.push_back({origin, index_of(name.substr(mark + 1))});
  }
  columns.names = std::move(names);
  return columns;
}

tl::expected<TrafficReader, std::string> TrafficReader::open(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  TrafficReader reader(std::move(*file));
  if (auto read = reader.read_header(); !read) return tl::unexpected(read.error());
  if (auto looked = reader.look_ahead(); !looked) return tl::unexpected(looked.error());
  return reader;
}

tl::unexpected<std::string> TrafficReader::because(const std::string& reason) const {
  return tl::unexpected(fmt::format("{}:{}: {}", file_.name(), line_, reason));
}

tl::expected<void, std::string> TrafficReader::more_text() {
  if (position_ > 0) {
    text_.erase(0, position_);
    position_ = 0;
  }
  const auto got = file_.read(text_, kBlock);
  if (!got) return tl::unexpected(got.error());
  at_end_ = *got == 0;
  return {};
}

tl::expected<bool, std::string> TrafficReader::next_line(std::string_view& line) {
  std::size_t searched = 0;  // after position_
  while (true) {
    const std::size_t from = position_ + searched;
    const std::size_t end = text_.find('\n', from);
    if (end != std::string::npos || (at_end_ && position_ < text_.size())) {
      const std::size_t stop = end != std::string::npos ? end : text_.size();
      line = without_return(std::string_view(text_).substr(position_, stop - position_));
      position_ = end != std::string::npos ? end + 1 : stop;
      ++line_;
      return true;
    }
    if (at_end_) return false;
    searched = text_.size() - position_;
    if (searched > kLongestLine) return because("a line is longer than 1 GiB");
    if (auto more = more_text(); !more) return tl::unexpected(more.error());
  }
}

tl::expected<void, std::string> TrafficReader::read_header() {
  std::string_view line;
  const auto got = next_line(line);
  if (!got) return tl::unexpected(got.error());
  if (!*got) return tl::unexpected(file_.name() + ": is empty");
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> fields = split(line);
  if (fields.front() != "time")
    return because("the header begins with " + quoted_field(fields.front()) +
                   ", not with \"time\"");
  fields.erase(fields.begin());
  auto columns = columns_of(std::move(fields));
  if (!columns) return because(columns.error());
  columns_ = std::move(*columns);
  return {};
}

tl::expected<void, std::string> TrafficReader::look_ahead() {
  std::map<EpochSeconds, int> steps;
  std::optional<EpochSeconds> before;
  std::size_t position = position_;
  for (int lines = 0; lines < kLookAheadLines;) {
    const std::size_t end = text_.find('\n', position);
    if (end == std::string::npos && !at_end_) {
      if (text_.size() > kLookAheadBytes && lines > 2) break;
      const std::size_t ahead = position - position_;
      if (auto more = more_text(); !more) return tl::unexpected(more.error());
      position = position_ + ahead;
      continue;
    }
    const std::string_view line = std::string_view(text_).substr(position, end - position);
    const auto time = parse_time(without_return(line.substr(0, line.find(','))));
    if (time && before && *time > *before) ++steps[*time - *before];
    if (time) before = time;
    ++lines;
    if (end == std::string::npos) break;
    position = end + 1;
  }
  int most = 0;
  for (const auto& [step, count] : steps)  // of equally common steps the shortest
    if (count > most && step <= std::numeric_limits<int>::max()) {
      most = count;
      bin_seconds_ = int(step);
    }
  return {};
}

tl::expected<bool, std::string> TrafficReader::next(TrafficRow& row) {
  std::string_view line;
  const auto got = next_line(line);
  if (!got || !*got) return got;
  if (line.empty()) return because("an empty line");
  const std::size_t comma = std::min(line.find(','), line.size());
  const std::string_view stamp = line.substr(0, comma);
  const auto time = parse_time(stamp);
  if (!time)
    return because("time " + quoted_field(stamp) + " is not a time like 2004-03-01T00:05:00Z");
  if (last_time_ && *time <= *last_time_)
    return because("time " + format_time(*time) + " is not after the row before, " +
                   format_time(*last_time_));
  if (comma == line.size())
    return because(fmt::format("1 field, but the header has {}", columns_.names.size() + 1));
  if (auto read = read_cells(line.substr(comma + 1), row.values); !read)
    return tl::unexpected(read.error());
  row.time = *time;
  row.line = line_;
  last_time_ = time;
  return true;
}

tl::expected<void, std::string> TrafficReader::read_cells(std::string_view cells,
                                                          std::vector<double>& values) {
  const std::size_t columns = columns_.names.size();
  values.resize(columns);
  const char* place = cells.data();
  const char* const last = cells.data() + cells.size();
  for (std::size_t column = 0;; ++column) {
    if (place == last || *place == ',') {
      values[column] = std::numeric_limits<double>::quiet_NaN();
    } else {
      const auto [end, error] = std::from_chars(place, last, values[column]);
      const bool complete = error == std::errc{} && (end == last || *end == ',');
      if (!complete || !std::isfinite(values[column])) {
        const std::string_view rest(place, std::size_t(last - place));
        return because(columns_.names[column] + ": " +
                       what_is_wrong_with(rest.substr(0, rest.find(','))));
      }
      place = end;
    }
    const bool row_ends = place == last, columns_end = column + 1 == columns;
    if (row_ends && columns_end) return {};
    if (row_ends || columns_end) break;
    ++place;  // the comma
  }
  std::size_t fields = 2;  // the time and the cell before the first comma
  for (char letter : cells) fields += letter == ',';
  return because(fmt::format("{} fields, but the header has {}", fields, columns + 1));
}

tl::expected<TrafficWriter, std::string> TrafficWriter::create(
    const std::string& path, const std::vector<std::string>& columns) {
  auto file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  TrafficWriter writer(std::move(*file));
  std::string header = "time";
  for (const std::string& column : columns) header += "," + column;
  header += '\n';
  if (auto written = writer.file_.write(header); !written) return tl::unexpected(written.error());
  return writer;
}

template <class Number>
tl::expected<void, std::string> TrafficWriter::write_row(EpochSeconds time,
                                                         std::span<const Number> values) {
  text_ = format_time(time);
  for (const Number value : values) {
    text_ += ',';
    if (std::isfinite(value)) append_number(text_, value);
  }
  text_ += '\n';
  return file_.write(text_);
}

tl::expected<void, std::string> TrafficWriter::write(EpochSeconds time,
                                                     std::span<const double> values) {
  return write_row(time, values);
}
tl::expected<void, std::string> TrafficWriter::write(EpochSeconds time,
                                                     std::span<const float> values) {
  return write_row(time, values);
}

}  // namespace outlierd::ctl
