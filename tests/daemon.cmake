# What is tested of daemon/.
foreach(name daemon kill)
  outlierd_test(integration/daemon/whole/${name} LABELS integration LINKS nlohmann_json::nlohmann_json PLAIN)
  target_compile_definitions(integration_daemon_whole_${name}_test PRIVATE
    OUTLIERD="$<TARGET_FILE:outlierd>")
  add_dependencies(integration_daemon_whole_${name}_test outlierd)
endforeach()
outlierd_test(integration/daemon/whole/flows LABELS integration
  LINKS outlierd_ctl nlohmann_json::nlohmann_json PLAIN)
target_compile_definitions(integration_daemon_whole_flows_test PRIVATE
  OUTLIERD="$<TARGET_FILE:outlierd>" OUTLIERCTL="$<TARGET_FILE:outlierctl>")
add_dependencies(integration_daemon_whole_flows_test outlierd outlierctl)
add_test(NAME integration.real_exporters_and_collectors_agree
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/real_flows.py $<TARGET_FILE:outlierd>)
set_tests_properties(integration.real_exporters_and_collectors_agree PROPERTIES
  LABELS integration TIMEOUT 400 SKIP_RETURN_CODE 77)
outlierd_test(integration/daemon/whole/in_process LABELS integration
  LINKS outlierd_daemon nlohmann_json::nlohmann_json PLAIN)
