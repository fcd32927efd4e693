-- image 4: (limit steps)
local step = ('aaa'):gmatch('a')
while true do
  step(request, {})
end
