-- image 4: (limit steps)
local s = ('\xcc\x80'):rep(100000)
while true do
  utf8.offset(s, 50000)
end
