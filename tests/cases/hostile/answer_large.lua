-- object_patch 1: (limit resultNodes)
local t = {}
for i = 1, 3000 do
  t['k' .. i] = i
end
return { metadata = t }
