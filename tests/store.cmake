# What is tested of daemon/store/.
