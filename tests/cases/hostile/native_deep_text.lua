-- image 4: (limit memoryBytes)
local text = ('['):rep(5000)
while true do
  perigee.json.decode(text)
end
