-- image 3: (limit blockBytes)
local function f(...)
  return f(1, ...)
end
return f()
