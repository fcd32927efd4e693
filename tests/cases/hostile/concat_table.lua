-- image 6: (limit blockBytes)
local x, t = ('x'):rep(1000), {}
for i = 1, 400 do
  t[i] = x
end
return table.concat(t)
