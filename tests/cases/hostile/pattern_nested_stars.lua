-- image 2: (limit steps)
return (('a'):rep(40)):find(('a*'):rep(20) .. 'b')
