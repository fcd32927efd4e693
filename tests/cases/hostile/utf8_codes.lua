-- image 4: (limit steps)
local s = ('a'):rep(200000)
while true do
  for _ in utf8.codes(s) do end
end
