-- image 7: (limit steps)
local t = {}
for i = 1, 100 do
  t[i] = i % 3 == 0 and 0 / 0 or -i
end
while true do
  table.sort(t)
end
