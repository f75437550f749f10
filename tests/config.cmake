# What is tested of config/.
outlierd_test(unit/config/address LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/bad_files LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/dump LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/load LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/time_zone LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/values LABELS unit LINKS outlierd_config)

add_executable(fuzz_load_config_replay_test fuzz/load_config_replay_test.cpp fuzz/load_config.cpp)
set_target_properties(fuzz_load_config_replay_test PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_compile_definitions(fuzz_load_config_replay_test PRIVATE
  OUTLIERD_CORPUS="${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus")
target_link_libraries(fuzz_load_config_replay_test PRIVATE
  outlierd_config GTest::gtest_main outlierd_settings)
gtest_discover_tests(fuzz_load_config_replay_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS fuzz)
