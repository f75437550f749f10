#!/usr/bin/env bash
# On a fresh Debian 12: installs what is needed, checks the format, builds what is shipped, runs under
# sanitizers what CI has time for, then every test. Ends with ctest's summary; exit 0 when all pass.
set -eu
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "packages"
bash tests/packages.sh

step "format"
git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-14 --dry-run --Werror

step "release build"
cmake --preset release -DOUTLIERD_BENCH=OFF >/dev/null  # tests/full.sh runs the benchmarks
cmake --build --preset release

step "address and undefined-behaviour sanitizers"
cmake --preset asan -DOUTLIERD_BENCH=OFF >/dev/null
cmake --build --preset asan --target outlierd_memory_tests
ctest --preset asan -j "$(nproc)" --output-on-failure

step "thread sanitizer"
cmake --preset tsan -DOUTLIERD_BENCH=OFF >/dev/null
cmake --build --preset tsan --target outlierd_thread_tests
ctest --preset tsan -j "$(nproc)" --output-on-failure

step "all tests"
for program in build/release/tests/*_test build/release/tests/*_tests; do "$program" --gtest_list_tests; done |
  awk '/^  / { cases++ } END { print cases " cases of GoogleTest; a test below is the cases of one file" }'
ctest --preset release -j "$(nproc)" --output-on-failure
