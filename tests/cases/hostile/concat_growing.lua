-- image 4: (limit steps)
local s = ''
while true do
  s = s .. 'xxxxxxxxxxxxxxxx'
end
