-- image 4: (limit memoryBytes)
local text = '[' .. ('1,'):rep(20000) .. '1]'
while true do
  perigee.json.decode(text)
end
