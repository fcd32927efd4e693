-- SPDX-License-Identifier: Apache-2.0
--- Which runtimes could serve a model. `candidates` is C: core/stdlib/natives.c.
---@class perigee.RuntimeOptions
---@field namespace? string count only the runtimes of this namespace
---@field multi_model? boolean
---@field multi_node? boolean
---@field compat? "kserve"|"fixed"|perigee.View
---@class perigee.runtimes
local M = {}

--- candidates(runtimes, cluster_runtimes, model, options): {request, candidates}, as the policy
--- runtime_selection gets them.
local candidates_of = (...).candidates

--- The names of the runtimes that support a model, best first, by the shipped runtime_selection
--- policy.
---@param runtimes table? ServingRuntimes
---@param cluster_runtimes table? ClusterServingRuntimes
---@param model table spec.predictor.model
---@param options? perigee.RuntimeOptions
---@return string[]
function M.supporting(runtimes, cluster_runtimes, model, options)
  local asked = candidates_of(runtimes, cluster_runtimes, model, options)
  local policy, request = perigee.shipped.runtime_selection, asked.request
  local accepted = {}
  for _, candidate in ipairs(asked.candidates) do
    if policy.accept(candidate, request) then
      accepted[#accepted + 1] = candidate
    end
  end
  table.sort(accepted, function(a, b)
    return policy.before(a, b, request)
  end)
  local names = {}
  for i, candidate in ipairs(accepted) do
    names[i] = candidate.name
  end
  return perigee.array(names)
end

return M
