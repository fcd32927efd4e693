-- image 2: (limit steps)
for _ = 1, math.huge do end
