-- image 2: bad argument #2 to 'insert' (position out of bounds)
table.insert({}, math.maxinteger, 1)
