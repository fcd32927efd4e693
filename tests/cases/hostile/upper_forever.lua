-- image 4: (limit steps)
local s = ('a'):rep(200000)
while true do
  s:upper()
end
