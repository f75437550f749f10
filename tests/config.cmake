# What is tested of config/.
