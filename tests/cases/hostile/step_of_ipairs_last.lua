-- image 3: bad argument #2 to 'step' (out of range)
local step = ipairs({})
return step({}, math.maxinteger)
