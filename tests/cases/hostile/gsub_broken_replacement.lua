-- image 2: invalid capture index %9 in replacement string
return (('x'):gsub('x', '%9'))
