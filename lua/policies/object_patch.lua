-- SPDX-License-Identifier: Apache-2.0
--- A last strategic merge patch for each rendered object: none. See policy-guide.md,
--- "object_patch".
---@type perigee.ObjectPatchPolicy
local M = { api = "object_patch/v1" }

---@param _object perigee.View
---@param _service perigee.View
---@return table? patch
function M.patch(_object, _service)
  return nil
end

return M
