# What is tested of daemon/worker/.
outlierd_test(unit/daemon/worker/disk_thread LABELS unit threads LINKS outlierd_worker)
outlierd_test(unit/daemon/worker/group_commit LABELS unit threads LINKS outlierd_worker)
outlierd_test(unit/daemon/worker/lanes LABELS unit threads LINKS outlierd_worker)
