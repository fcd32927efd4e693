-- image 4: (limit steps)
local t = '1'
for _ = 1, 1e9 do
  t = (t + '0x10') .. ''
end
