# What is tested of daemon/ctl/.
outlierd_test(unit/daemon/ctl/traffic_csv LABELS unit LINKS outlierd_ctl)
