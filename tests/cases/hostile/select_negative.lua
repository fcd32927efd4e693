-- image 2: bad argument #1 to 'select' (index out of range)
return select(math.mininteger, 1)
