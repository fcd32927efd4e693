-- object_patch 1: answer: a table with a metatable cannot be turned into JSON
return setmetatable({}, { __index = function() while true do end end })
