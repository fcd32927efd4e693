-- image 2: far
error('far', 50)
