-- image 2: invalid value (nil) at index 1
return table.concat({}, 'x', 1, 1 << 50)
