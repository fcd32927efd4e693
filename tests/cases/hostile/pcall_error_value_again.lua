-- image 2: (limit steps)
local _, e = pcall(function() while true do end end)
while true do pcall(error, e) end
