-- object_patch 1: answer: tables are nested too deeply; does one hold itself?
local t = {}
for _ = 1, 2000 do
  t = { a = t }
end
return t
