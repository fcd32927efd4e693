-- image 14: done
local odd = { math.mininteger, 0 / 0, request, print, { { { 'a' } } }, 'a=b,c in (' }
local names = { 'json', 'quantity', 'selectors', 'explain', 'labels', 'gpu', 'podspec', 'images', 'flags', 'version', 'compat' }
for _, name in ipairs(names) do
  local module = perigee[name]
  for _, f in pairs(type(module) == 'table' and module or {}) do
    for _, a in ipairs(odd) do
      pcall(f, a, a)
      pcall(f, request, a, a, a)
    end
  end
end
local why = 'done'
error(why)
