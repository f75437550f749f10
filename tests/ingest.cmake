# What is tested of daemon/ingest/.
