-- SPDX-License-Identifier: Apache-2.0
--- Times of objects as seconds. There is no clock here: what time it is comes in as an argument.
---@class perigee.times
local M = {}

--- Days from 1970-01-01 to a date of the Gregorian calendar.
local function days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local leap = year // 4 - year // 100 + year // 400
  return 365 * year + leap + (153 * (month - 3) + 2) // 5 + day - 719469
end

--- Seconds since 1970 of an RFC 3339 time in UTC ("2026-06-01T00:00:00Z"; fractions are dropped).
---@param text any
---@return integer? seconds nil when it is no such time
function M.seconds(text)
  if type(text) ~= "string" then
    return nil
  end
  local year, month, day, hour, minute, second =
    text:match("^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)[%d.]*Z$")
  if not year then
    return nil
  end
  local date = days(tonumber(year), tonumber(month), tonumber(day))
  return date * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second)
end

--- Seconds from one time to another; 0 when either is none, or the second comes first.
---@param from any
---@param to any
---@return integer
function M.between(from, to)
  local a, b = M.seconds(from), M.seconds(to)
  return a and b and b > a and b - a or 0
end

return M
