-- object_patch 1: (limit resultNodes)
local t = { 1 }
for _ = 1, 40 do
  t = { t, t }
end
return { spec = t }
