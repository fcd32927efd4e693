-- image 2: a table was raised as error
error(setmetatable({}, { __tostring = function() while true do end end }))
