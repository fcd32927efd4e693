-- image 2: bad argument #3 to 'format' (no value)
return string.format(('%s'):rep(300), 1)
