-- SPDX-License-Identifier: Apache-2.0
--- How arguments and variables of a runtime's and a service's container combine. Without an opinion
--- (nil) arguments are concatenated, the runtime's first, and variables are merged by name. See
--- policy-guide.md, "container_merge".
---@type perigee.ContainerMergePolicy
local M = { api = "container_merge/v1" }

---@param _runtime_args perigee.View? list of texts
---@param _service_args perigee.View?
---@param _container_name string
---@return string[]? args
function M.args(_runtime_args, _service_args, _container_name)
  return nil
end

---@param _name string of the variable
---@param _runtime_entry perigee.View?
---@param _service_entry perigee.View?
---@param _container_name string
---@return table? entry
function M.env(_name, _runtime_entry, _service_entry, _container_name)
  return nil
end

return M
