-- image 7: (limit steps)
local t = {}
for i = 1, 2000 do
  t['k' .. i] = i
end
while true do
  next(t)
end
