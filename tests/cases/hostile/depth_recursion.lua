-- image 3: the calls are nested too deeply
local function f(n)
  return n == 0 and 0 or 1 + f(n - 1)
end
return f(1e9)
