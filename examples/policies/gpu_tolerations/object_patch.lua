-- SPDX-License-Identifier: Apache-2.0
--- Tolerations by GPU type. Pods that ask for a GPU get the tolerations of its nodes, from the
--- option `tolerations`: resource name to the key of the taint. Tolerations are a list without
--- names, so the patch carries the ones that are there as well.
local M = {
  api = "object_patch/v1",
  options = {
    tolerations = {
      ["nvidia.com/gpu"] = "nvidia.com/gpu",
      ["amd.com/gpu"] = "amd.com/gpu",
      ["habana.ai/gaudi"] = "habana.ai/gaudi",
    },
  },
}

local json, quantity = perigee.json, perigee.quantity

--- Taint keys that the containers need, as a set.
local function needed_keys(pod)
  local keys = {}
  for _, container in ipairs(json.given(pod.containers) or {}) do
    for resource, count in pairs(json.at(container, "resources", "limits") or {}) do
      local key = options.tolerations[resource]
      if not key and resource:sub(1, 14) == "nvidia.com/mig" then
        key = options.tolerations["nvidia.com/gpu"]
      end
      if key and not quantity.is_zero(count) then
        keys[key] = true
      end
    end
  end
  return keys
end

function M.patch(object, _service)
  local pod = json.at(object, "spec", "template", "spec")
  if not pod then
    return nil
  end
  local needed, tolerations, added = needed_keys(pod), {}, false
  for i, toleration in ipairs(json.given(pod.tolerations) or {}) do
    tolerations[i] = toleration
    if toleration.key then
      needed[toleration.key] = nil
    end
  end
  for key in pairs(needed) do
    tolerations[#tolerations + 1] = { key = key, operator = "Exists", effect = "NoSchedule" }
    added = true
  end
  return added and { spec = { template = { spec = { tolerations = tolerations } } } } or nil
end

return M
