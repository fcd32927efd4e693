-- image 2: (limit steps)
for _ = math.mininteger, math.maxinteger do end
