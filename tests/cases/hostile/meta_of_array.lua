-- image 2: takes no metatable
setmetatable(perigee.array({}), {})
