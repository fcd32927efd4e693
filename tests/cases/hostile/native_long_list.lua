-- image 4: (limit steps)
local list = perigee.json.decode('[' .. ('1,'):rep(1500) .. '1]')
while true do
  perigee.json.find(list, 'a', 'b')
end
