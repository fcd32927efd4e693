-- image 2: C stack overflow
local t = setmetatable({}, { __unm = function(t) return -t end })
return -t
