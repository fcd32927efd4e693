-- image 3: bad argument #1 to 'step' (string expected, got object)
local step = utf8.codes('a')
return step(request, 1)
