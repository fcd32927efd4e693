-- image 2: field 'random'
math.random()
