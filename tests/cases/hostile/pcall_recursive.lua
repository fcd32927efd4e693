-- image 4: (limit steps)
local function f()
  pcall(f)
  while true do end
end
f()
