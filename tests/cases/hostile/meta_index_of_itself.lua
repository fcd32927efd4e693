-- image 4: '__index' chain too long; possible loop
local t = {}
setmetatable(t, { __index = t })
return t.x.y
