-- image 4: (limit steps)
local t = {}
while true do
  table.insert(t, 1, 0)
end
