-- image 4: (limit steps)
local t
while true do
  t = { t }
end
