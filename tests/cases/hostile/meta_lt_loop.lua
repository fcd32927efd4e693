-- image 2: (limit steps)
local meta = { __lt = function() while true do end end }
return setmetatable({}, meta) < setmetatable({}, meta)
