-- image 3: (limit blockBytes)
local s = ('x'):rep(100000)
return string.format('%s%s%s', s, s, s)
