-- image 2: would be too long
return ('x'):rep(1 << 60)
