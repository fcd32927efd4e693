-- image 2: line line line line
error(('line\n'):rep(2000))
