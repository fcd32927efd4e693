-- image 4: xxx
local _, t = pairs(string)
t.rep = nil
error(('x'):rep(3))
