-- image 3: bad argument #1 to 'step' (table expected, got string)
local step = pairs({ 1, 2, 3 })
return step('abc')
