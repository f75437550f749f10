#!/usr/bin/env bash
# Everything: tests/run.sh, static analysis, a fuzz campaign (FUZZ_SECONDS a target, default 600) and
# the benchmarks; the package, the quick start and the container where they can run. Takes its time; run by hand, not by CI.
set -eu
cd "$(dirname "$0")/.."
bash tests/run.sh

printf '\n== everything under the sanitizers\n'
cmake --build --preset asan
ctest --test-dir build/asan -LE statistical -j "$(nproc)" --output-on-failure
cmake --build --preset tsan --target integration_daemon_whole_in_process_test
build/tsan/tests/integration_daemon_whole_in_process_test

printf '\n== release build\n'
cmake --preset release -DOUTLIERD_TESTS=OFF -DOUTLIERD_BENCH=ON >/dev/null
cmake --build --preset release

printf '\n== clang-tidy\n'
# With clang's options, not g++'s, and every file on its own includes.
cmake --preset release -B build/tidy -DOUTLIERD_TESTS=OFF -DOUTLIERD_BENCH=OFF \
  -DOUTLIERD_BATCHES=OFF -DCMAKE_CXX_COMPILER=clang++-14 >/dev/null
git ls-files 'core/*.cpp' 'config/*.cpp' 'daemon/*.cpp' | grep -v kernels_avx2 | xargs clang-tidy-14 -p build/tidy --quiet

printf '\n== fuzzing\n'
cmake --preset fuzz -DOUTLIERD_TESTS=OFF -DOUTLIERD_BENCH=OFF >/dev/null
targets=(restore_factorizer load_config decode_matrix decode_flow decode_flow_json)
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}"
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  "build/fuzz/fuzz_$target" -max_total_time="${FUZZ_SECONDS:-600}" -print_final_stats=1 \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
done

long() {  # long <what> <command>...: a test that may say it cannot run here (77)
  printf '\n== %s\n' "$1"
  "${@:2}" || [ $? -eq 77 ]
}
cmake --preset release -DOUTLIERD_TESTS=OFF >/dev/null
cmake --build --preset release --target package
long "Debian package in a fresh root" tests/deploy/fresh_root.sh package build/release/outlierd_*.deb
long "quick start in a fresh root" tests/deploy/fresh_root.sh quickstart
long "tests/run.sh in a fresh root" tests/deploy/fresh_root.sh run
long "Alertmanager away for ten minutes" python3 tests/integration/alertmanager_away.py build/release/outlierd build/release/outlierctl
long "container image" tests/deploy/container.sh

printf '\n== benchmarks\n'
build/release/outlierd_bench --json build/bench.json
build/release/outlierd_tables
build/release/outlierd_decode_bench
build/release/outlierd_flow_bench
build/release/outlierd_flow_bin_bench
[ -e ../shared/data/traffic/abilene-2004-05.csv.gz ] &&
  tests/bench/daemon_bench.py build/release ../shared/data/traffic/abilene-2004-05.csv.gz
