-- image 4: (limit memoryBytes)
local x = ('x'):rep(10000)
while true do
  perigee.json.encode({ x })
end
