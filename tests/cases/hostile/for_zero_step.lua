-- image 2: 'for' step is zero
for _ = 1, 2, 0 do end
