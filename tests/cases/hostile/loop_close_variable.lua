-- image 3: (limit steps)
while true do
  local s <const> = 1
end
