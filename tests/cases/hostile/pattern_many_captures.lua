-- image 2: too many captures
return ('a'):find(('(a)'):rep(40))
