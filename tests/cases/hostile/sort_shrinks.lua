-- image 8: attempt to compare two nil values
local t = {}
for i = 1, 200 do
  t[i] = i
end
table.sort(t, function(a, b)
  t[#t] = nil
  return a < b
end)
while true do end
