# What is tested of daemon/worker/.
