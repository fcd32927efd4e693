-- image 2: '__tostring' must return a string
return string.format('%s', setmetatable({}, { __tostring = function() return nil end }))
