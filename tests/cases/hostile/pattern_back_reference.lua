-- image 2: (limit steps)
return (('a'):rep(20000)):find('(a-)(a-)(a-)%1%2%3b')
