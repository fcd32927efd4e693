-- image 2: bad argument #2 to 'codepoint' (out of bounds)
return utf8.codepoint('abc', math.mininteger, math.maxinteger)
