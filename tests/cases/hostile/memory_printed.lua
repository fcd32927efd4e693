-- image 4: (limit steps)
local x = ('x'):rep(10000)
while true do
  print(x)
end
