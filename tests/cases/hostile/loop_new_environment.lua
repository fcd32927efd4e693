-- image 3: (limit steps)
setmetatable(_ENV, {})
while true do end
