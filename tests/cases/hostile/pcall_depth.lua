-- image 3: the calls are nested too deeply
local function f(n)
  return 1 + f(n + 1)
end
pcall(f, 1)
return 'survived'
