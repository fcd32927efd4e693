-- image 2: the text would be too long
return ('x'):rep(1 << 40, ('y'):rep(1000))
