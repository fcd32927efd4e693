-- image 2: may not have __close
local x <close> = setmetatable({}, { __close = function() while true do end end })
