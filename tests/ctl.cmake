# What is tested of daemon/ctl/.
add_library(outlierd_ctl_test_support STATIC unit/daemon/ctl/fake_daemon.cpp)
target_include_directories(outlierd_ctl_test_support PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(outlierd_ctl_test_support
  PUBLIC outlierd_ctl Threads::Threads nlohmann_json::nlohmann_json PRIVATE outlierd_settings)

outlierd_test(unit/daemon/ctl/pusher LABELS unit LINKS outlierd_ctl_test_support PLAIN)
outlierd_test(unit/daemon/ctl/traffic_csv LABELS unit LINKS outlierd_ctl PLAIN)
outlierd_test(unit/daemon/ctl/simulator LABELS unit LINKS outlierd_ctl PLAIN)
outlierd_test(unit/daemon/ctl/incidents LABELS unit LINKS outlierd_ctl_test_support PLAIN)
outlierd_test(unit/daemon/ctl/render LABELS unit LINKS outlierd_ctl PLAIN)
outlierd_test(unit/daemon/ctl/outlierctl LABELS unit LINKS outlierd_ctl_test_support PLAIN
  DEFINITIONS OUTLIERCTL="$<TARGET_FILE:outlierctl>")
add_dependencies(ctl_plain_tests outlierctl)
outlierd_test(unit/daemon/ctl/replay LABELS unit LINKS outlierd_ctl nlohmann_json::nlohmann_json PLAIN)
outlierd_test(unit/daemon/ctl/evaluate LABELS unit LINKS outlierd_ctl nlohmann_json::nlohmann_json PLAIN)
