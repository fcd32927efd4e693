-- image 4: (limit memoryBytes)
local t, x = {}, ('x'):rep(1000)
for i = 1, 1e6 do
  t[i] = x .. i
end
