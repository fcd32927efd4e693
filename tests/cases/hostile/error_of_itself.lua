-- image 4: a table was raised as error
local t = {}
t.t = t
error(t)
