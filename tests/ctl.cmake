# What is tested of daemon/ctl/.
