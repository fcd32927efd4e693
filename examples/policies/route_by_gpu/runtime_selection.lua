-- SPDX-License-Identifier: Apache-2.0
--- Route by GPU type. A runtime says in its label `example.com/accelerator` what it runs on
--- (`nvidia`, `amd`, `gaudi`, `cpu`; none: anything). A service that asks for a GPU gets a runtime
--- for that kind, one that asks for none gets none that needs one.
local M = {
  api = "runtime_selection/v1",
  options = {
    label = "example.com/accelerator",
    kinds = {
      ["nvidia.com/gpu"] = "nvidia",
      ["amd.com/gpu"] = "amd",
      ["habana.ai/gaudi"] = "gaudi",
    },
  },
}

local json, labels, quantity = perigee.json, perigee.labels, perigee.quantity
local shipped = perigee.shipped.runtime_selection

--- The kind of accelerator among the limits and requests of the model; "cpu" without one.
local function asked_kind(model)
  local resources = json.given(model.resources) or {}
  for _, part in ipairs({ "limits", "requests" }) do
    for resource, count in pairs(json.given(resources[part]) or {}) do
      local kind = options.kinds[resource]
      if not kind and resource:sub(1, 14) == "nvidia.com/mig" then
        kind = "nvidia"
      end
      if kind and not quantity.is_zero(count) then
        return kind
      end
    end
  end
  return "cpu"
end

function M.accept(candidate, request)
  local runs_on = labels.get(candidate.object, options.label)
  local asked = asked_kind(request.model)
  if not request.named and runs_on and runs_on ~= asked then
    return false, "it runs on " .. runs_on .. ", the service asks for " .. asked, "other"
  end
  return shipped.accept(candidate, request)
end

return M
