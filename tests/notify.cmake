# What is tested of daemon/notify/.
outlierd_test(unit/daemon/notify/notify LABELS unit
  LINKS outlierd_alerts nlohmann_json::nlohmann_json)
outlierd_test(integration/daemon/notify/notifier LABELS integration LINKS outlierd_notify PLAIN)
foreach(receiver webhook alertmanager maintenance)
  add_test(NAME integration.notify_${receiver}
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/notify.py
      $<TARGET_FILE:outlierd> $<TARGET_FILE:outlierctl> ${receiver})
  set_tests_properties(integration.notify_${receiver} PROPERTIES
    LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME integration.prometheus_scrapes_and_rules_work
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/prometheus.py $<TARGET_FILE:outlierd> $<TARGET_FILE:outlierctl>)
set_tests_properties(integration.prometheus_scrapes_and_rules_work PROPERTIES
  LABELS integration TIMEOUT 300 SKIP_RETURN_CODE 77)
