-- SPDX-License-Identifier: Apache-2.0
--- Label selectors. `matches` and `text` are C: core/policy/natives.c.
---@alias perigee.Selector string|table|perigee.View|nil a text, or a LabelSelector
---@class perigee.selectors
---@field matches fun(selector: perigee.Selector, labels: table|perigee.View|nil): boolean
---@field text fun(selector: perigee.Selector): string
local M = {}

--- A LabelSelector for exactly these labels.
---@param labels table|perigee.View
---@return {matchLabels: table<string, string>}
function M.for_labels(labels)
  local copy = {}
  for key, value in pairs(labels) do
    copy[key] = value
  end
  return { matchLabels = perigee.object(copy) }
end

return M
