-- image 2: '__tostring' must return a string
return tostring(setmetatable({}, { __tostring = function() return 1 end }))
