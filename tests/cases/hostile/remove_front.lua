-- image 7: (limit steps)
local t = {}
for i = 1, 9000 do
  t[i] = i
end
while #t > 0 do
  table.remove(t, 1)
end
