-- image 3: C stack overflow
local function f()
  table.sort({ 1, 2, 3 }, function()
    return f()
  end)
end
f()
