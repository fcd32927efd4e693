-- image 2: (limit steps)
return (('('):rep(100000)):find('%b()x')
