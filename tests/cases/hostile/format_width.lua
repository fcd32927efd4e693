-- image 2: invalid conversion '%999' to 'format'
return string.format('%99999d', 1)
