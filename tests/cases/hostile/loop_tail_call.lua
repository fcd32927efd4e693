-- image 3: (limit steps)
local function f()
  return f()
end
return f()
