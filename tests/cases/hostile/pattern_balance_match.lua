-- image 4: (limit steps)
local s = ('('):rep(50000)
while true do
  s:match('%b()')
end
