-- image 4: (limit steps)
local s = ('a'):rep(200000)
while true do
  utf8.codepoint(s, 1, -1)
end
