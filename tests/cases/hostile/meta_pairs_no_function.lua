-- image 2: attempt to call a number value (for iterator 'for iterator')
for _ in pairs(setmetatable({}, { __pairs = function() return 1, 2, 3 end })) do end
