-- image 3: C stack overflow
local function f()
  return (('x'):gsub('x', f))
end
f()
while true do end
