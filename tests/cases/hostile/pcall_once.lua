-- image 2: (limit steps)
pcall(function() while true do end end)
return 'survived'
