-- image *: (limit steps)
local odd = { math.mininteger, math.maxinteger, -1, 0.5, 0 / 0, 1 / 0, '', '1e400', request, perigee, string, {}, print, true }
odd[#odd + 1] = setmetatable({}, { __index = function(t) return t end, __unm = tostring })
local lists = { string, table, math, utf8, { print, next, pairs, ipairs, select, type, tonumber, tostring, assert, pcall, setmetatable } }
while true do
  for _, list in ipairs(lists) do
    for _, f in pairs(list) do
      for _, a in ipairs(odd) do
        pcall(f, a)
        for _, b in ipairs(odd) do
          pcall(f, a, b)
          pcall(f, b, a, a)
        end
      end
    end
  end
end
