-- image 2: invalid value (nil) at index 9223372036854775806 in table for 'concat'
return table.concat({}, ',', math.maxinteger - 1, math.maxinteger)
