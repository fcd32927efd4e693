-- image 2: (limit steps)
pcall(string.gsub, 'x', 'x', function() while true do end end)
return 'survived'
