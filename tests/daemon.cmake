# What is tested of daemon/.
foreach(name daemon kill)
  outlierd_test(integration/daemon/whole/${name} LABELS integration LINKS nlohmann_json::nlohmann_json PLAIN)
  target_compile_definitions(integration_daemon_whole_${name}_test PRIVATE
    OUTLIERD="$<TARGET_FILE:outlierd>")
  add_dependencies(integration_daemon_whole_${name}_test outlierd)
endforeach()
outlierd_test(integration/daemon/whole/in_process LABELS integration
  LINKS outlierd_daemon nlohmann_json::nlohmann_json PLAIN)
