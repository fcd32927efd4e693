-- image 2: (limit steps)
for _ = 1, 2, 1e-300 do end
