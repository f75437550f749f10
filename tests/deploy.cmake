# What is tested of deploy/ and docs/. The long ones (a fresh Debian, a container) are in tests/full.sh.
function(outlierd_deploy_test name label)
  add_test(NAME deploy.${name} COMMAND ${ARGN})
  set_tests_properties(deploy.${name} PROPERTIES
    LABELS ${label} TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

set(here ${CMAKE_CURRENT_SOURCE_DIR}/deploy)
outlierd_deploy_test(documents_say_what_the_code_has unit
  python3 ${here}/documents.py $<TARGET_FILE:outlierd>)
outlierd_deploy_test(what_is_shipped_is_good unit
  ${here}/programs.sh $<TARGET_FILE:outlierd> $<TARGET_FILE:outlierctl>)
outlierd_deploy_test(unit_is_hardened unit ${here}/unit.sh $<TARGET_FILE:outlierd>)
if(NOT OUTLIERD_SANITIZE)
  outlierd_deploy_test(quickstart_finds_the_incident integration
    ${here}/quickstart.sh ${PROJECT_BINARY_DIR})
  # Both write to build/quickstart.
  set_tests_properties(deploy.quickstart_finds_the_incident PROPERTIES RESOURCE_LOCK quickstart)
endif()
