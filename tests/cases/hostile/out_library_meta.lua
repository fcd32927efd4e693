-- image 2: bad argument #1 to 'setmetatable'
setmetatable(string, {})
