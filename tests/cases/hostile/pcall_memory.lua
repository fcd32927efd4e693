-- image 6: (limit memoryBytes)
local s, n, t = ('x'):rep(1000), 0, nil
pcall(function()
  while true do
    n = n + 1
    t = { t, s .. n }
  end
end)
return 'survived'
