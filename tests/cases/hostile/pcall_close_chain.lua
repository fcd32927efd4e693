-- image 3: (limit steps)
local function f()
  local t = setmetatable({}, { __index = function() while true do end end })
  return pcall(function() return t.x end)
end
f()
return 'survived'
