-- image 2: (limit blockBytes)
return ('x'):rep(1 << 20)
