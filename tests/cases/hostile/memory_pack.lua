-- image 4: (limit steps)
local t = {}
while true do
  t = table.pack(t, table.unpack(t))
end
