-- image 3: a table with a table as key cannot be walked: such keys have no order
local t = { [request] = 1, [request.gpus] = 2 }
for k in pairs(t) do
  return k
end
