-- image 4: (limit steps)
local s = ('1'):rep(200000)
while true do
  tonumber(s, 16)
end
