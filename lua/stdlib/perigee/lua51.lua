-- SPDX-License-Identifier: Apache-2.0
--- Names of Lua 5.1 that Lua 5.4 has no more, for scripts written for Argo CD or Karmada. `perigee
--- eval` adds them to the names of a script by itself; a policy takes what it needs, as in
--- `local unpack = perigee.lua51.unpack`. What would make code out of texts or reach outside is
--- refused by name.
---@class perigee.lua51
---@field string table<string, function> gfind
---@field table table<string, function> getn, maxn, foreach, foreachi; setn is refused
---@field math table<string, function> pow, mod, log10, ldexp; random and randomseed are refused
---@field loadstring fun(...: any) refused, as are load, loadfile, dofile, getfenv and setfenv
---@field load fun(...: any) refused
---@field loadfile fun(...: any) refused
---@field dofile fun(...: any) refused
---@field getfenv fun(...: any) refused
---@field setfenv fun(...: any) refused
local M = {}

---@param name string
---@param why string
local function refuse(name, why)
  return function()
    error(name .. " is not available: " .. why, 2)
  end
end

local CODE = "scripts are not made out of texts"
local OUTSIDE = "scripts do not reach outside"
local CHANGE = "the same input has the same answer"

--- The items of a list as values.
---@param list table
---@param i? integer
---@param j? integer
---@return any ...
function M.unpack(list, i, j)
  return table.unpack(list, i, j)
end

M.loadstring = refuse("loadstring", CODE)
M.load = refuse("load", CODE)
M.loadfile = refuse("loadfile", CODE)
M.dofile = refuse("dofile", CODE)
M.getfenv = refuse("getfenv", CODE)
M.setfenv = refuse("setfenv", CODE)

--- The module `kube` of Karmada (perigee.karmada) and the libraries that are there anyway.
---@param name string
---@return table
function M.require(name)
  local libraries = { kube = perigee.karmada, string = string, table = table, math = math }
  local found = libraries[name]
  if not found then
    error("module '" .. tostring(name) .. "' is not available: " .. OUTSIDE, 2)
  end
  return found
end

--- A whole number stays one, since 5.1 prints 8 where 5.4 prints 8.0.
local function whole(number)
  return math.tointeger(number) or number
end

M.math = {
  pow = function(x, y)
    return whole(x ^ y)
  end,
  mod = function(x, y)
    return math.fmod(x, y)
  end,
  log10 = function(x)
    return whole(math.log(x, 10))
  end,
  ldexp = function(x, exponent)
    return whole(x * 2.0 ^ exponent)
  end,
  random = refuse("math.random", CHANGE),
  randomseed = refuse("math.randomseed", CHANGE),
}

M.string = {
  gfind = function(text, pattern)
    return text:gmatch(pattern)
  end,
}

M.table = {
  getn = function(list)
    return #list
  end,
  maxn = function(list)
    local most = 0
    for key in pairs(list) do
      if type(key) == "number" and key > most then
        most = key
      end
    end
    return most
  end,
  foreach = function(map, visit)
    for key, value in pairs(map) do
      local result = visit(key, value)
      if result ~= nil then
        return result
      end
    end
  end,
  foreachi = function(list, visit)
    for i, value in ipairs(list) do
      local result = visit(i, value)
      if result ~= nil then
        return result
      end
    end
  end,
  setn = refuse("table.setn", "a list is as long as it is"),
}

return M
