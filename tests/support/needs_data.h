#pragma once
// A test that needs measured data begins with OUTLIERD_NEEDS_DATA(folder), and is skipped, with the
// reason, where there are none.

#include <gtest/gtest.h>

#include "tests/support/data_files.h"

// Declares `folder`; skips the test where there is none.
#define OUTLIERD_NEEDS_DATA(folder)                                              \
  const auto folder##_found = ::outlierd::test::data_folder();                   \
  if (!folder##_found) GTEST_SKIP() << "needs ../shared/data or $OUTLIERD_DATA"; \
  const std::filesystem::path& folder = *folder##_found
