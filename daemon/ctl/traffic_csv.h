#pragma once
// Traffic CSV, read and written row by row: `time,ORIG>DEST,...`, one row a bin, an empty cell was
// not observed. A file of scores has the same shape.
//
// The reader is strict: the first thing that is not as it should be ends the reading with
// FILE:LINE: what is wrong. Bins may be missing; times must increase. Memory: one row of text (and
// a few MiB of look-ahead, from which the bin width is known before the first row is read).

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/traffic/network.h"
#include "daemon/ctl/text_file.h"

namespace outlierd::ctl {

struct Pair {  // indices into the list of nodes
  int origin = 0, destination = 0;
  bool operator==(const Pair&) const = default;
};

struct TrafficColumns {
  std::vector<std::string> names;  // "ATLA>CHIN"
  std::vector<std::string> nodes;  // in order of first appearance
  std::vector<Pair> pairs;         // one a column
};
// From a header without its first field; the reason has no file or line.
tl::expected<TrafficColumns, std::string> columns_of(std::vector<std::string> names);

struct TrafficRow {
  EpochSeconds time = 0;
  std::size_t line = 0;        // in the file, from 1
  std::vector<double> values;  // one a column; NaN: not observed
};

class TrafficReader {
 public:
  static tl::expected<TrafficReader, std::string> open(const std::string& path);

  const TrafficColumns& columns() const { return columns_; }
  // The most common step between the first rows; nothing when there are not two.
  std::optional<int> bin_seconds() const { return bin_seconds_; }
  // False at the end of the file.
  tl::expected<bool, std::string> next(TrafficRow& row);
  double fraction_read() const { return file_.fraction_read(); }  // NaN: not known
  const std::string& name() const { return file_.name(); }

 private:
  explicit TrafficReader(InputFile file) : file_(std::move(file)) {}
  tl::expected<bool, std::string> next_line(std::string_view& line);
  tl::expected<void, std::string> read_header();
  tl::expected<void, std::string> look_ahead();
  tl::expected<void, std::string> more_text();
  tl::unexpected<std::string> because(const std::string& reason) const;
  tl::expected<void, std::string> read_cells(std::string_view cells, std::vector<double>& values);

  InputFile file_;
  TrafficColumns columns_;
  std::optional<int> bin_seconds_;
  std::string text_;  // what was read and not yet taken begins at position_
  std::size_t position_ = 0;
  bool at_end_ = false;
  std::size_t line_ = 0;
  std::optional<EpochSeconds> last_time_;
};

class TrafficWriter {
 public:
  static tl::expected<TrafficWriter, std::string> create(const std::string& path,
                                                         const std::vector<std::string>& columns);

  // One value a column; what is not finite is an empty cell.
  tl::expected<void, std::string> write(EpochSeconds time, std::span<const double> values);
  tl::expected<void, std::string> write(EpochSeconds time, std::span<const float> values);
  tl::expected<void, std::string> close() { return file_.close(); }

 private:
  explicit TrafficWriter(OutputFile file) : file_(std::move(file)) {}
  template <class Number>
  tl::expected<void, std::string> write_row(EpochSeconds time, std::span<const Number> values);

  OutputFile file_;
  std::string text_;  // of one row, kept for its memory
};

// The shortest text that reads back as the same number.
void append_number(std::string& text, double value);
void append_number(std::string& text, float value);

}  // namespace outlierd::ctl
