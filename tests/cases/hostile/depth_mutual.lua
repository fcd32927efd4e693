-- image 4: the calls are nested too deeply
local f, g
function f(n) return 1 + g(n) end
function g(n) return 1 + f(n) end
return f(1)
