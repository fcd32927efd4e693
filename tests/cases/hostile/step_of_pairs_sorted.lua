-- image 3: bad argument #1 to 'step' (table expected, got number)
local step = pairs({ a = 1, b = 2 })
return step(5)
