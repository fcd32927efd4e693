-- image 2: global 'debug'
debug.sethook()
