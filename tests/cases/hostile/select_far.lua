-- image 2: out of range
return select(-5, 1)
