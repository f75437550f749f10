# What is tested of daemon/.
set(programs OUTLIERD="$<TARGET_FILE:outlierd>" OUTLIERCTL="$<TARGET_FILE:outlierctl>")
outlierd_test(integration/daemon/whole/daemon LABELS integration LINKS nlohmann_json::nlohmann_json PLAIN
  DEFINITIONS ${programs})
outlierd_test(integration/daemon/whole/kill LABELS integration LINKS nlohmann_json::nlohmann_json PLAIN
  DEFINITIONS ${programs})
outlierd_test(integration/daemon/whole/flows LABELS integration
  LINKS outlierd_ctl nlohmann_json::nlohmann_json PLAIN DEFINITIONS ${programs})
add_dependencies(daemon_plain_tests outlierd outlierctl)
add_test(NAME integration.real_exporters_and_collectors_agree
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/real_flows.py $<TARGET_FILE:outlierd>)
set_tests_properties(integration.real_exporters_and_collectors_agree PROPERTIES
  LABELS integration TIMEOUT 400 SKIP_RETURN_CODE 77 RUN_SERIAL ON)
outlierd_test(integration/daemon/whole/in_process LABELS integration
  LINKS outlierd_daemon nlohmann_json::nlohmann_json PLAIN ALONE)
