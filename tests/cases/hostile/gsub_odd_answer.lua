-- image 2: invalid replacement value (a table)
return (('x'):gsub('x', function() return {} end))
