-- image 2: C stack overflow
local t = setmetatable({}, { __pairs = function(t) return pairs(t) end })
for _ in pairs(t) do end
