-- image 4: (limit blockBytes)
local s = ('\0'):rep(200000)
while true do
  string.format('%q', s)
end
