-- image 4: (limit steps)
local s = ('x'):rep(50000)
while true do
  s:gsub('', '')
end
