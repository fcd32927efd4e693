-- image 2: (limit steps)
while true do end
