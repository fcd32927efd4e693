-- image 2: a pattern may not be longer than 4096 bytes
return (('a'):rep(100000)):find(('(a?)'):rep(30) .. ('a?'):rep(5000) .. 'b')
