-- SPDX-License-Identifier: Apache-2.0
--- How many nodes and GPUs a model gets that does not fit on one node. The arithmetic is C. See
--- policy-guide.md, "multi_node".
---@type perigee.MultiNodePolicy
local M = { api = "multi_node/v1" }

---@param request perigee.TopologyRequest
---@return perigee.Topology? topology nil: it cannot be done
---@return string? error why not
function M.topology(request)
  if request.backend == "mp" then
    return perigee.gpu.mp(request)
  end
  return perigee.gpu.ray(request)
end

return M
