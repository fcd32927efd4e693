-- image 10: (limit steps)
local t = {}
for i = 1, 200 do
  t[i] = -i
end
table.sort(t, function(a, b)
  t[#t + 1] = -#t
  return a < b
end)
while true do end
