-- image 4: (limit steps)
local s = ('a'):rep(100000)
while true do
  s:find('%f[b]')
end
