-- image 2: in text
return tostring(setmetatable({}, { __tostring = function() error('in text', 0) end }))
