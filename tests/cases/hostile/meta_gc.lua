-- image 2: may not have __gc
setmetatable({}, { __gc = function() while true do end end })
