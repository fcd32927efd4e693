-- image 4: (limit memoryBytes)
local t
while true do
  t = { t, perigee.copy(request) }
end
