# What is tested of daemon/ingest/.
outlierd_test(unit/daemon/ingest/decode_matrix LABELS unit LINKS outlierd_ingest)
outlierd_test(unit/daemon/ingest/journal_record LABELS unit LINKS outlierd_ingest)
