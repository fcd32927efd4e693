-- image 2: (limit steps)
for _ in (('a'):rep(100000)):gmatch('a-b') do end
