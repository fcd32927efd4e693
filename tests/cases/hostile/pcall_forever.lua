-- image 3: (limit steps)
while true do
  pcall(function() while true do end end)
end
