// main() of the test programs. --file unit/core/pipeline: the cases of that test file alone. Exit
// code 77, which ctest calls skipped, when every case was.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

// A filter of GoogleTest, or nothing where the program has no such file.
std::string cases_of(std::string_view path) {
  const std::string file = "tests/" + std::string(path) + "_test.cpp";
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (!std::string_view(test.file()).ends_with(file)) continue;
      filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + "." + test.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::string_view(argv[1]) == "--file") {
    const std::string filter = cases_of(argv[2]);
    if (filter.empty()) {
      std::fprintf(stderr, "%s has no case of %s\n", argv[0], argv[2]);
      return 1;
    }
    testing::GTEST_FLAG(filter) = filter;
  } else if (argc > 1) {
    std::fprintf(stderr, "usage: %s [--file FOLDER/NAME] [--gtest_...]\n", argv[0]);
    return 2;
  }
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool skipped = all.skipped_test_count() == all.test_to_run_count();
  return failed != 0 ? failed : skipped ? 77 : 0;
}
