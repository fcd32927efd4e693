-- image 2: bad argument #2 to 'format' (number expected, got object)
return string.format('%d', request)
