# What is tested of daemon/store/.
outlierd_test(unit/daemon/store/journal LABELS unit LINKS outlierd_store)
