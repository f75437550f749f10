# What is tested of config/.
outlierd_test(unit/config/address LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/bad_files LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/dump LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/load LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/time_zone LABELS unit LINKS outlierd_config)
outlierd_test(unit/config/values LABELS unit LINKS outlierd_config)
outlierd_fuzz_target(load_config LINKS outlierd_config)
