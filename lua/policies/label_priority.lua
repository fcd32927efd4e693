-- SPDX-License-Identifier: Apache-2.0
--- Whose label or annotation wins when layers disagree. See policy-guide.md, "label_priority".
---@type perigee.LabelPriorityPolicy
local M = { api = "label_priority/v1" }

---@param _part "labels"|"annotations"
---@param _target "head"|"worker"
---@return string[] layers lowest first; "fixed" (what Perigee sets itself) always comes after them
function M.layers(_part, _target)
  return { "runtime", "service", "predictor" }
end

return M
