-- image 2: (limit steps)
local function f() return pcall(pcall, pcall, function() while true do end end) end
while true do f() end
