-- image 5: (limit blockBytes)
local a = ('x'):rep(2000)
local t = a
while true do
  t = a .. a .. a .. a .. a .. t .. a .. a .. a .. a .. a
end
