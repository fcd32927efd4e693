-- image 2: may not have __mode
setmetatable({}, { __mode = 'k' })
