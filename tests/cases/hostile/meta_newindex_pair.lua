-- image 5: '__newindex' chain too long; possible loop
local a, b = {}, {}
setmetatable(a, { __newindex = b })
setmetatable(b, { __newindex = a })
a.x = 1
