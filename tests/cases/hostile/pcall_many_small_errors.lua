-- image 2: (limit steps)
for _ = 1, 1e9 do
  pcall(error)
end
