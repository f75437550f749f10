# What is tested of daemon/store/.
outlierd_test(unit/daemon/store/journal LABELS unit LINKS outlierd_store)
outlierd_test(unit/daemon/store/operators LABELS unit LINKS outlierd_store)
outlierd_test(unit/daemon/store/rate LABELS unit statistical LINKS outlierd_store)
outlierd_test(unit/daemon/store/retention LABELS unit LINKS outlierd_store)
outlierd_test(unit/daemon/store/snapshots LABELS unit LINKS outlierd_store)
outlierd_test(unit/daemon/store/store LABELS unit LINKS outlierd_store)
outlierd_test(unit/daemon/store/store_recovery LABELS unit threads LINKS outlierd_store)
