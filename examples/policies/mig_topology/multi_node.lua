-- SPDX-License-Identifier: Apache-2.0
--- MIG-aware topology. A slice of a GPU cannot be joined with slices of other GPUs by NVLink, so
--- tensor parallelism has to stay within one card: at most `slices` of them on a node, and the rest
--- is done by pipeline stages on more nodes. Services that ask for whole GPUs are planned as
--- shipped.
local M = {
  api = "multi_node/v1",
  options = {
    slices = { -- how many slices of a kind one card has
      ["nvidia.com/mig-1g.5gb"] = 7,
      ["nvidia.com/mig-2g.10gb"] = 3,
      ["nvidia.com/mig-3g.20gb"] = 2,
    },
  },
}

local shipped = perigee.shipped.multi_node

function M.topology(request)
  local resource = request.head.resource
  if resource:sub(1, 14) ~= "nvidia.com/mig" then
    return shipped.topology(request)
  end
  local most = options.slices[resource]
  if not most then
    return nil, "how many slices of " .. resource .. " a card has is not in the options"
  end
  if request.worker.resource ~= resource then
    local kinds = resource .. " and " .. request.worker.resource
    return nil, "head and workers need slices of one kind, not " .. kinds
  end
  if request.tensor_parallel > most then
    local text = "a card has %d slices of %s, tensor parallelism needs %d"
    return nil, text:format(most, resource, request.tensor_parallel)
  end
  local slices = request.tensor_parallel
  return { nodes = request.pipeline_parallel, head_gpus = slices, worker_gpus = slices }
end

return M
