-- image 10: attempt to compare two nil values
local t = {}
for i = 1, 200 do
  t[i] = -i
end
table.sort(t, function(a, b)
  for i = #t, 1, -1 do
    t[i] = nil
  end
  return a < b
end)
error('sorted')
