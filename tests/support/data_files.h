#pragma once
// The measured data of the project, where they are at hand: $OUTLIERD_DATA, else ../shared/data
// beside the repository. They are not part of it, so a test that needs them begins with
// OUTLIERD_NEEDS_DATA(folder) and is skipped, with the reason, where there are none.
//
// A file that is missing or not what it should be is a reason, never a crash.

#include <gtest/gtest.h>

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

// Declares `folder`; skips the test where there is none.
#define OUTLIERD_NEEDS_DATA(folder)                                              \
  const auto folder##_found = ::outlierd::test::data_folder();                   \
  if (!folder##_found) GTEST_SKIP() << "needs ../shared/data or $OUTLIERD_DATA"; \
  const std::filesystem::path& folder = *folder##_found
