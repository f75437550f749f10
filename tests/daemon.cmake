# What is tested of daemon/.
