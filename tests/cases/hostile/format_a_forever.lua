-- image 3: (limit steps)
while true do
  string.format('%a%q', 0 / 0, 1 / 0)
end
