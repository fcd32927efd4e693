-- image 3: invalid UTF-8 code
local step = utf8.codes('a')
return step('abc', math.mininteger) .. step('abc', math.maxinteger)
