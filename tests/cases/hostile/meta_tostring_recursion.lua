-- image 2: C stack overflow
local t = setmetatable({}, { __tostring = function(t) return tostring(t) end })
return tostring(t)
