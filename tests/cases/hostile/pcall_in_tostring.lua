-- image 6: caught
local function f()
  return pcall(tostring, setmetatable({}, { __tostring = f }))
end
f()
error('caught')
