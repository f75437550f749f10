#include "tests/support/data_files.h"

#include <zlib.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>

namespace outlierd::test {
namespace {

constexpr std::size_t kBlock = 1 << 16;

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(mark, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (!in) return tl::unexpected(file.string() + ": cannot be opened");
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    const int got = gzread(in.get(), text.data() + before, unsigned(kBlock));
    text.resize(before + std::size_t(got > 0 ? got : 0));
    if (got > 0) continue;
    int error = Z_OK;
    gzerror(in.get(), &error);  // a file cut short also ends like this
    if (got < 0 || error != Z_OK) return tl::unexpected(file.string() + ": damaged");
    return text;
  }
}

std::optional<double> number_of(std::string_view field) {
  if (field.empty()) return std::numeric_limits<double>::quiet_NaN();
  double value = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::filesystem::path> data_folder() {
  const char* chosen = std::getenv("OUTLIERD_DATA");  // NOLINT(concurrency-mt-unsafe)
  const std::filesystem::path folder = chosen ? chosen : OUTLIERD_SHARED_DATA;
  std::error_code error;
  if (!std::filesystem::is_directory(folder / "traffic", error)) return std::nullopt;
  return folder;
}

tl::expected<Table, std::string> read_table(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text) return tl::unexpected(text.error());
  const auto because = [&](std::size_t line, const std::string& reason) {
    return tl::unexpected(file.string() + ":" + std::to_string(line) + ": " + reason);
  };
  std::vector<std::string_view> lines = split(*text, '\n');
  for (std::string_view& line : lines)
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) return because(1, "no header");

  Table table;
  const std::vector<std::string_view> header = split(lines[0], ',');
  table.columns.assign(header.begin() + 1, header.end());
  for (std::size_t k = 1; k < lines.size(); ++k) {
    const std::vector<std::string_view> fields = split(lines[k], ',');
    if (fields.size() != header.size()) return because(k + 1, "another number of fields");
    table.times.emplace_back(fields[0]);
    std::vector<double>& row = table.rows.emplace_back();
    for (std::size_t column = 1; column < fields.size(); ++column) {
      const std::optional<double> value = number_of(fields[column]);
      if (!value) return because(k + 1, "not a number: " + std::string(fields[column]));
      row.push_back(*value);
    }
  }
  return table;
}

}  // namespace outlierd::test
