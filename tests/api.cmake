# What is tested of daemon/api/.
add_library(outlierd_api_test_support INTERFACE)
target_link_libraries(outlierd_api_test_support
  INTERFACE outlierd_api Boost::headers nlohmann_json::nlohmann_json)

outlierd_test(unit/daemon/api/event_stream LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(unit/daemon/api/http_text LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(unit/daemon/api/json LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(unit/daemon/api/live_state LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(unit/daemon/api/request_bodies LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(unit/daemon/api/router LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(unit/daemon/api/tokens LABELS unit LINKS outlierd_api_test_support PLAIN)
outlierd_test(integration/daemon/api/answers LABELS integration LINKS outlierd_api_test_support PLAIN)
outlierd_test(integration/daemon/api/http_server LABELS integration LINKS outlierd_api_test_support PLAIN)
outlierd_test(integration/daemon/api/tls LABELS integration LINKS outlierd_api_test_support PLAIN)

# Serves made-up data, for wrk and schemathesis.
if(OUTLIERD_BENCH)
  add_executable(outlierd_api_demo bench/api_demo.cpp)
  target_link_libraries(outlierd_api_demo PRIVATE outlierd_api Boost::headers outlierd_settings)
endif()
