-- image 7: (limit steps)
local t = {}
for i = 1, 500 do
  t['k' .. i] = i
end
while true do
  pairs(t)
end
