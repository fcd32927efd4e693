-- image 2: (limit steps)
local a, b = ('x'):rep(200000) .. 1, ('x'):rep(200000) .. 2
while true do
  local _ = a < b
end
