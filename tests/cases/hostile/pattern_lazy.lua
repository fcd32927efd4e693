-- image 2: (limit steps)
return (('a'):rep(100000)):find('.-b')
