-- image 2: may not have __name
setmetatable({}, { __name = 'x' })
