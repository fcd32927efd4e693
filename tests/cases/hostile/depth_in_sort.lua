-- image 3: C stack overflow
local function f()
  table.sort({ 2, 1 }, function(a, b) f() return a < b end)
end
f()
