-- image 5: '__index' chain too long; possible loop
local a, b = {}, {}
setmetatable(a, { __index = b })
setmetatable(b, { __index = a })
return a.x
