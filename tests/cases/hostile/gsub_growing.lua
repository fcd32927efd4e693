-- image 2: (limit blockBytes)
return ('x'):rep(20000):gsub('x', ('y'):rep(40))
