-- image 2: (limit steps)
return tostring(setmetatable({}, { __tostring = function() while true do end end }))
