-- image 4: (limit blockBytes)
local t = {}
for i = 1, 1e6 do
  t[i] = function() return i end
end
