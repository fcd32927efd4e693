-- image 7: (limit steps)
local t = print
for _ = 1, 150 do
  t = setmetatable({}, { __call = t })
end
while true do
  t()
end
