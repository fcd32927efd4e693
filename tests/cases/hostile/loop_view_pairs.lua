-- image 3: (limit steps)
while true do
  for _ in pairs(request) do end
end
