-- image 2: bad argument #3 to 'offset' (position out of bounds)
return utf8.offset('abc', math.mininteger, math.maxinteger)
