-- image 2: (limit steps)
repeat until false
