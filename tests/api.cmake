# What is tested of daemon/api/.
