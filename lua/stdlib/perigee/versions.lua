-- SPDX-License-Identifier: Apache-2.0
--- Dotted versions: "1", "v2.3", "1.10.0-rc1". A v in front and what follows a + do not count;
--- missing numbers are 0; a version with a suffix after - comes before the same without.
---@class perigee.versions
local M = {}

---@class perigee.Version
---@field numbers integer[]
---@field suffix string[]

local function split(text, separator)
  local parts = {}
  for word in (text .. separator):gmatch("([^" .. separator .. "]*)%" .. separator) do
    parts[#parts + 1] = word
  end
  return parts
end

--- The parts of a version; nil and why when it is none.
---@param text string
---@return perigee.Version?
---@return string? error
function M.parse(text)
  local core, suffix = tostring(text):gsub("%+.*$", ""):match("^[vV]?([%d.]+)%-?(.*)$")
  if not core then
    return nil, "not a version: " .. tostring(text)
  end
  local numbers = {}
  for i, word in ipairs(split(core, ".")) do
    local number = math.tointeger(tonumber(word))
    if not number then
      return nil, "not a version: " .. tostring(text)
    end
    numbers[i] = number
  end
  return { numbers = numbers, suffix = suffix ~= "" and split(suffix, ".") or {} }
end

--- Words of digits are compared as numbers and come before other words.
local function compare_words(a, b)
  local x, y = a:match("^%d+$") and tonumber(a), b:match("^%d+$") and tonumber(b)
  if x and y then
    return x < y and -1 or x > y and 1 or 0
  end
  if x or y then
    return x and -1 or 1
  end
  return a < b and -1 or a > b and 1 or 0
end

local function compare_suffixes(a, b)
  if #a == 0 or #b == 0 then
    return #a == #b and 0 or #a == 0 and 1 or -1
  end
  for i = 1, math.max(#a, #b) do
    if not a[i] or not b[i] then
      return a[i] and 1 or -1
    end
    local order = compare_words(a[i], b[i])
    if order ~= 0 then
      return order
    end
  end
  return 0
end

--- -1, 0 or 1 as a is older than, the same as or newer than b. Raises when one is not a version.
---@param a string
---@param b string
---@return integer
function M.compare(a, b)
  local x, problem = M.parse(a)
  if not x then
    error(problem, 2)
  end
  local y
  y, problem = M.parse(b)
  if not y then
    error(problem, 2)
  end
  for i = 1, math.max(#x.numbers, #y.numbers) do
    local first, second = x.numbers[i] or 0, y.numbers[i] or 0
    if first ~= second then
      return first < second and -1 or 1
    end
  end
  return compare_suffixes(x.suffix, y.suffix)
end

--- True when version is least or newer.
---@param version string
---@param least string
---@return boolean
function M.at_least(version, least)
  return M.compare(version, least) >= 0
end

--- The newest of a list, or nil of an empty one.
---@param list string[]
---@return string?
function M.newest(list)
  local best
  for _, version in ipairs(list) do
    if not best or M.compare(version, best) > 0 then
      best = version
    end
  end
  return best
end

return M
