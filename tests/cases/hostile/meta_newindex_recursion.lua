-- image 2: C stack overflow
local t = setmetatable({}, { __newindex = function(t, k, v) t[k + 1] = v end })
t[1] = 1
