-- SPDX-License-Identifier: Apache-2.0
--- Texts for reasons. `formats` and `offer` are C: core/policy/natives.c.
---@alias perigee.Formats table|perigee.View|nil entries of supportedModelFormats
---@class perigee.explain
---@field formats fun(formats: perigee.Formats): string "sklearn 1, xgboost"
---@field offer fun(asked: table|perigee.View, formats: perigee.Formats): string "asked for …, …"
local M = {}

--- "sklearn 1", or "sklearn" without a version.
---@param format {name: string, version?: string}
---@return string
function M.format(format)
  local version = format.version
  return version and format.name .. " " .. version or format.name
end

--- "a, b and c"; "nothing" of an empty list; at most `most` entries (8), then how many more.
---@param items (string|number)[]|perigee.View|nil
---@param most integer?
---@return string
function M.list(items, most)
  local count = items and items ~= perigee.null and #items or 0
  most = math.max(most or 8, 1)
  if count == 0 then
    return "nothing"
  end
  if count > most then
    return table.concat(items, ", ", 1, most) .. " and " .. count - most .. " more"
  end
  if count == 1 then
    return tostring(items[1])
  end
  return table.concat(items, ", ", 1, count - 1) .. " and " .. tostring(items[count])
end

return M
