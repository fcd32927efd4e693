-- image 3: (limit steps)
while true do
  string.rep('', 1 << 60)
end
