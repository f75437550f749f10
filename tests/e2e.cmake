# What is tested of the whole, through a browser. Skipped, with the reason, where npm or Chromium are not.
add_test(NAME e2e.dashboard_shows_an_incident_and_acts_on_it
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/dashboard/run.sh ${PROJECT_BINARY_DIR})
set_tests_properties(e2e.dashboard_shows_an_incident_and_acts_on_it PROPERTIES
  LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77 RUN_SERIAL ON)
add_test(NAME e2e.dashboard_is_usable_with_1000_nodes
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/dashboard/run.sh ${PROJECT_BINARY_DIR} large)
set_tests_properties(e2e.dashboard_is_usable_with_1000_nodes PROPERTIES
  LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77 RUN_SERIAL ON)
