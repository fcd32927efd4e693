-- image 4: (limit blockBytes)
local s = 'x'
while true do
  s = s .. s
end
