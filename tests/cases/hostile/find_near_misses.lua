-- image 3: (limit steps)
local s = ('a'):rep(200000)
return s:find(('a'):rep(100000) .. 'b', 1, true), s:find(('a'):rep(150000) .. 'b', 1, true) or error('no (limit steps)')
