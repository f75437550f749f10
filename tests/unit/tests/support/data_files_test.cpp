#include "tests/support/data_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace outlierd::test {
namespace {

// A file of its own for each test, gone afterwards.
class DataFilesTest : public testing::Test {
 protected:
  ~DataFilesTest() override { std::filesystem::remove(file_); }

  std::string reason() const {
    const auto table = read_table(file_);
    return table ? "read" : table.error().substr(file_.string().size());
  }
  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }

  const std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("outlierd_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DataFilesTest, ATableIsReadGzippedOrPlain) {
  const std::string text = "time,A>B,B>A\n2004-03-01T00:00:00Z,1.5,\n2004-03-01T00:05:00Z,,-2e3\n";
  for (bool gzipped : {false, true}) {
    if (gzipped) {
      const gzFile out = gzopen(file_.c_str(), "wb");
      gzwrite(out, text.data(), unsigned(text.size()));
      gzclose(out);
    } else {
      write(text);
    }
    const auto table = read_table(file_);
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ(table->columns, (std::vector<std::string>{"A>B", "B>A"}));
    EXPECT_EQ(table->times[1], "2004-03-01T00:05:00Z");
    ASSERT_EQ(table->rows.size(), 2u);
    EXPECT_EQ(table->rows[0][0], 1.5);
    EXPECT_TRUE(std::isnan(table->rows[0][1]));
    EXPECT_TRUE(std::isnan(table->rows[1][0]));
    EXPECT_EQ(table->rows[1][1], -2000.0);
  }
}

TEST_F(DataFilesTest, WhatIsNotATableIsAReason) {
  EXPECT_EQ(reason(), ": cannot be opened");
  write("");
  EXPECT_EQ(reason(), ":1: no header");
  write("time,A>B\nx,1\ny,1,2\n");
  EXPECT_EQ(reason(), ":3: another number of fields");
  write("time,A>B\nx,one\n");
  EXPECT_EQ(reason(), ":2: not a number: one");
}

TEST_F(DataFilesTest, AFileCutShortIsAReason) {
  const gzFile out = gzopen(file_.c_str(), "wb");
  for (int row = 0; row < 1000; ++row)
    gzprintf(out, row == 0 ? "time,A>B\n" : "t,%d\n", row * row % 977);
  gzclose(out);
  EXPECT_EQ(reason(), "read");
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) / 2);
  EXPECT_EQ(reason(), ": damaged");
}

}  // namespace
}  // namespace outlierd::test
