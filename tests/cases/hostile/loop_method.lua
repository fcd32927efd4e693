-- image 4: (limit steps)
local i = 0
while true do
  i = i + #('x'):rep(100)
end
