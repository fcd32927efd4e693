-- image 2: xxx
error(('x'):rep(100000))
