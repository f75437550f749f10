# What is tested of daemon/ingest/.
outlierd_test(unit/daemon/ingest/decode_matrix LABELS unit LINKS outlierd_ingest)
outlierd_test(unit/daemon/ingest/journal_record LABELS unit LINKS outlierd_ingest)
outlierd_test(integration/daemon/ingest/matrix_listener LABELS integration threads LINKS outlierd_ingest)
outlierd_fuzz_target(decode_matrix LINKS outlierd_ingest)
