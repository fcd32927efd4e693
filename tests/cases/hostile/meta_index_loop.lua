-- image 2: (limit steps)
local t = setmetatable({}, { __index = function() while true do end end })
return t.x
