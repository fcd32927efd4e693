-- image 3: attempt to index a nil value
local step = ipairs({})
return step(nil, 0)
