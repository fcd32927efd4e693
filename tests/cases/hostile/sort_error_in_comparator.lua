-- image 8: a table was raised as error
local t = {}
for i = 1, 50 do
  t[i] = i
end
table.sort(t, function(a, b)
  if a == 7 or b == 7 then
    error({ a, b })
  end
  return a < b
end)
