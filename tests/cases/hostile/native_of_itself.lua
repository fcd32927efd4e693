-- image 4: argument 1: tables are nested too deeply; does one hold itself?
local t = {}
t.t = t
return perigee.json.encode(t)
