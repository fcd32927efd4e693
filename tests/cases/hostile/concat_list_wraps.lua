-- image 2: invalid value (nil) at index -9223372036854775808 in table for 'concat'
return table.concat({}, ',', math.mininteger, math.maxinteger)
