-- image 7: '__index' chain too long
local t = {}
local first = t
for _ = 1, 3000 do
  t = setmetatable({}, { __index = t })
end
return t.x or first.y.z
