-- image 3: C stack overflow
local function f()
  return (('x'):gsub('x', f))
end
return f()
