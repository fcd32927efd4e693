-- image 2: may not have __len
table.insert(setmetatable({}, { __len = function() return 1e15 end }), 1)
