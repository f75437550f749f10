# What is tested of daemon/ingest/.
outlierd_test(unit/daemon/ingest/decode_matrix LABELS unit LINKS outlierd_ingest)
outlierd_test(unit/daemon/ingest/journal_record LABELS unit LINKS outlierd_ingest)
outlierd_test(integration/daemon/ingest/matrix_listener LABELS integration threads LINKS outlierd_ingest)
outlierd_fuzz_target(decode_matrix LINKS outlierd_ingest)
outlierd_test(unit/daemon/ingest/flow/netflow LABELS unit LINKS outlierd_flow)
outlierd_test(unit/daemon/ingest/flow/exporter_state LABELS unit LINKS outlierd_flow)
outlierd_test(unit/daemon/ingest/flow/sflow LABELS unit LINKS outlierd_flow)
outlierd_test(unit/daemon/ingest/flow/flow_json LABELS unit LINKS outlierd_flow)
outlierd_fuzz_target(decode_flow LINKS outlierd_flow)
outlierd_fuzz_target(decode_flow_json LINKS outlierd_flow)

# Every datagram of data/flows through outlierctl decode, and side by side with tshark where it is installed.
set(flow_data ${PROJECT_SOURCE_DIR}/../shared/data)
if(DEFINED ENV{OUTLIERD_DATA})
  set(flow_data $ENV{OUTLIERD_DATA})
endif()
add_test(NAME flow_captures COMMAND python3
  ${CMAKE_CURRENT_SOURCE_DIR}/integration/daemon/ingest/flow_captures.py $<TARGET_FILE:outlierctl> ${flow_data})
set_tests_properties(flow_captures PROPERTIES LABELS integration SKIP_RETURN_CODE 77 TIMEOUT 900)
