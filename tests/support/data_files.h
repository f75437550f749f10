#pragma once
// The measured data of the project, where they are at hand: $OUTLIERD_DATA, else ../shared/data
// beside the repository. They are not part of it.
//
// A file that is missing or not what it should be is a reason, never a crash.

#include <filesystem>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace outlierd::test {

std::optional<std::filesystem::path> data_folder();

// A table of numbers, gzip or plain: a header, then rows of a label and one number a column. An
// empty field was not measured and is NaN.
struct Table {
  std::vector<std::string> columns;  // without the label's
  std::vector<std::string> times;    // the label of each row
  std::vector<std::vector<double>> rows;
};
tl::expected<Table, std::string> read_table(const std::filesystem::path& file);

}  // namespace outlierd::test
