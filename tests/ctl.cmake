# What is tested of daemon/ctl/.
add_library(outlierd_ctl_test_support STATIC unit/daemon/ctl/fake_daemon.cpp)
target_include_directories(outlierd_ctl_test_support PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(outlierd_ctl_test_support
  PUBLIC outlierd_ctl Threads::Threads nlohmann_json::nlohmann_json PRIVATE outlierd_settings)

outlierd_test(unit/daemon/ctl/pusher LABELS unit threads LINKS outlierd_ctl_test_support)
outlierd_test(unit/daemon/ctl/traffic_csv LABELS unit LINKS outlierd_ctl)
