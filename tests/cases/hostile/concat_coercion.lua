-- image 4: (limit steps)
local n = 1
while true do
  n = n .. 1
end
