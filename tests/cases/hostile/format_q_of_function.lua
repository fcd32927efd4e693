-- image 2: bad argument #2 to 'format' (value has no literal form)
return string.format('%q', print)
