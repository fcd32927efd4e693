-- image 2: attempt to concatenate a table value
return ('x'):byte(math.mininteger, math.maxinteger) .. {}
