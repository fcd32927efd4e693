-- SPDX-License-Identifier: Apache-2.0
--- Harden pods for the restricted Pod Security Standard. Where neither the runtime nor the service
--- says otherwise, containers run as an unprivileged user, without capabilities, with the runtime's
--- default seccomp profile.
local M = { api = "object_patch/v1" }

local json = perigee.json

--- The defaults that `present` lacks; nil when it has them all.
local function lacking(defaults, present)
  local added
  for key, value in pairs(defaults) do
    if not present or json.given(present[key]) == nil then
      added = added or {}
      added[key] = value
    end
  end
  return added
end

local CONTAINER = { allowPrivilegeEscalation = false, capabilities = { drop = { "ALL" } } }
local POD = { runAsNonRoot = true, seccompProfile = { type = "RuntimeDefault" } }

local function patch_containers(containers)
  local changed
  for _, container in ipairs(json.given(containers) or {}) do
    local added = lacking(CONTAINER, json.given(container.securityContext))
    if added then
      changed = changed or {}
      changed[#changed + 1] = { name = container.name, securityContext = added }
    end
  end
  return changed
end

function M.patch(object, _service)
  local pod = json.at(object, "spec", "template", "spec")
  if not pod then
    return nil
  end
  local patch = {
    securityContext = lacking(POD, json.given(pod.securityContext)),
    containers = patch_containers(pod.containers),
    initContainers = patch_containers(pod.initContainers),
  }
  return next(patch) and { spec = { template = { spec = patch } } } or nil
end

return M
