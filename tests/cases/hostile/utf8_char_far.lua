-- image 2: bad argument #1 to 'char' (value out of range)
return utf8.char(1 << 31)
