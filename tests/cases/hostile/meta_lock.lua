-- image 2: may not have __metatable
setmetatable({}, { __metatable = false })
