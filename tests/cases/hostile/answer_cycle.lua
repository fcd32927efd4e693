-- object_patch 1: answer: tables are nested too deeply; does one hold itself?
local t = {}
t.t = t
return t
