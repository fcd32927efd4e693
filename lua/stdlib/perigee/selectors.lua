-- SPDX-License-Identifier: Apache-2.0
--- Label selectors: a text ("app=x,tier in (a,b),!old") or a LabelSelector; nil selects nothing, {}
--- everything. `matches` and `text` are C: core/policy/natives.c.
---@alias perigee.Selector string|table|perigee.View|nil a text, or a LabelSelector
---@alias perigee.Labels table|perigee.View|nil
---@class perigee.selectors
---@field matches fun(selector: perigee.Selector, labels: perigee.Labels): boolean it selects them
---@field text fun(selector: perigee.Selector): string its canonical text
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
