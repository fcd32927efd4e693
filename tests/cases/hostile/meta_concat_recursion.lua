-- image 2: C stack overflow
local t = setmetatable({}, { __concat = function(a, b) return a .. b end })
return 'x' .. t
