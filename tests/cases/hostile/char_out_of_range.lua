-- image 2: bad argument #2 to 'char' (value out of range)
return string.char(72, -1)
