-- SPDX-License-Identifier: Apache-2.0
--- The library `kube` of Karmada's resource interpreter, under its own names: scripts get it as
--- `require("kube")` in `perigee eval`.
---@class perigee.karmada
local M = {}

local json, quantity = perigee.json, perigee.quantity

local function list_of(value)
  return json.given(value) or {}
end

--- The sum of quantities; nil counts as 0.
---@param ... string|number|nil
---@return string
function M.resourceAdd(...)
  local sum = "0"
  for i = 1, select("#", ...) do
    local one = select(i, ...)
    if one ~= nil then
      -- The first one says how the sum is written, as in Kubernetes' own addition to zero.
      sum = sum == "0" and quantity.canonical(one) or quantity.add(sum, one)
    end
  end
  return sum
end

-- ---- what a replica needs ----

--- Counted are cpu, memory, storage, and resources with a domain or of huge pages.
local function is_counted(name)
  return name == "cpu"
    or name == "memory"
    or name == "ephemeral-storage"
    or name == "pods"
    or name:find("/", 1, true) ~= nil
    or name:sub(1, 10) == "hugepages-"
    or name:sub(1, 19) == "attachable-volumes-"
end

--- cpu in thousandths, the rest in whole units.
local function amount(name, value)
  return name == "cpu" and quantity.milli(value) or quantity.value(value)
end

--- Requests of a container; a limit without a request is one.
local function requests_of(container)
  local resources, requests = json.given(container.resources) or {}, {}
  for _, part in ipairs({ "limits", "requests" }) do
    for name, value in pairs(list_of(resources[part])) do
      if is_counted(name) then
        requests[name] = amount(name, value)
      end
    end
  end
  return requests
end

--- A whole number of bytes with the largest of Ki, Mi … that divides it.
local function binary(bytes)
  local suffixes, at = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" }, 1
  while at < #suffixes and bytes % 1024 == 0 and bytes > 0 do
    bytes, at = bytes // 1024, at + 1
  end
  return bytes .. suffixes[at]
end

local function written(name, value)
  if name == "cpu" then
    return quantity.canonical(value .. "m")
  end
  if name == "memory" or name == "ephemeral-storage" or name:sub(1, 10) == "hugepages-" then
    return binary(value)
  end
  return quantity.canonical(tostring(value))
end

--- What all containers need together, or an init container alone when that is more; nil: nothing.
local function resource_request(spec)
  local total, result = {}, nil
  for _, container in ipairs(list_of(spec.containers)) do
    for name, value in pairs(requests_of(container)) do
      total[name] = (total[name] or 0) + value
    end
  end
  for _, container in ipairs(list_of(spec.initContainers)) do
    for name, value in pairs(requests_of(container)) do
      total[name] = math.max(total[name] or 0, value)
    end
  end
  for name, value in pairs(total) do
    if value > 0 then
      result = result or {}
      result[name] = written(name, value)
    end
  end
  return result
end

local function filled(value)
  value = json.given(value)
  if value ~= nil and next(value) ~= nil then
    return value
  end
  return nil
end

local function node_claim(spec)
  local affinity = json.at(spec, "affinity", "nodeAffinity") or {}
  local claim = {
    hardNodeAffinity = json.given(affinity.requiredDuringSchedulingIgnoredDuringExecution),
    nodeSelector = filled(spec.nodeSelector),
    tolerations = filled(spec.tolerations),
  }
  return next(claim) and claim or nil
end

--- What one replica of a pod template needs of a node; nil: nothing in particular.
---@param pod table|perigee.View a pod template
---@return {nodeClaim?: table, resourceRequest?: table<string, string>}?
function M.accuratePodRequirements(pod)
  local spec = json.given(pod.spec) or {}
  local needs = { nodeClaim = node_claim(spec), resourceRequest = resource_request(spec) }
  return next(needs) and needs or nil
end

-- ---- what a pod refers to ----

--- Adds the name at a path below node, when there is one.
local function add(names, node, ...)
  local name = json.at(node, ...)
  if type(name) == "string" and name ~= "" then
    names[name] = true
  end
end

local function add_of_environment(config_maps, secrets, container)
  for _, entry in ipairs(list_of(container.env)) do
    add(config_maps, entry, "valueFrom", "configMapKeyRef", "name")
    add(secrets, entry, "valueFrom", "secretKeyRef", "name")
  end
  for _, source in ipairs(list_of(container.envFrom)) do
    add(config_maps, source, "configMapRef", "name")
    add(secrets, source, "secretRef", "name")
  end
end

local SECRET_VOLUMES = { "cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos" }

local function add_of_volume(config_maps, secrets, claims, volume)
  add(config_maps, volume, "configMap", "name")
  add(secrets, volume, "secret", "secretName")
  add(secrets, volume, "azureFile", "secretName")
  add(secrets, volume, "csi", "nodePublishSecretRef", "name")
  add(claims, volume, "persistentVolumeClaim", "claimName")
  for _, kind in ipairs(SECRET_VOLUMES) do
    add(secrets, volume, kind, "secretRef", "name")
  end
  for _, source in ipairs(list_of(json.at(volume, "projected", "sources"))) do
    add(config_maps, source, "configMap", "name")
    add(secrets, source, "secret", "name")
  end
end

--- ConfigMaps, Secrets, the ServiceAccount and PersistentVolumeClaims that a pod template names, by
--- kind and name.
---@param pod_template table|perigee.View
---@param namespace? string "default"
---@return {apiVersion: string, kind: string, namespace: string, name: string}[]
function M.getPodDependencies(pod_template, namespace)
  local spec = json.given(pod_template.spec) or {}
  local config_maps, secrets, accounts, claims = {}, {}, {}, {}
  for _, part in ipairs({ "containers", "initContainers", "ephemeralContainers" }) do
    for _, container in ipairs(list_of(spec[part])) do
      add_of_environment(config_maps, secrets, container)
    end
  end
  for _, volume in ipairs(list_of(spec.volumes)) do
    add_of_volume(config_maps, secrets, claims, volume)
  end
  for _, pull in ipairs(list_of(spec.imagePullSecrets)) do
    add(secrets, pull, "name")
  end
  if spec.serviceAccountName ~= "default" then
    add(accounts, spec, "serviceAccountName")
  end
  local found = perigee.array()
  local kinds = {
    { "ConfigMap", config_maps },
    { "Secret", secrets },
    { "ServiceAccount", accounts },
    { "PersistentVolumeClaim", claims },
  }
  for _, kind in ipairs(kinds) do
    for name in pairs(kind[2]) do
      local reference = { apiVersion = "v1", kind = kind[1], name = name }
      reference.namespace = namespace or "default"
      found[#found + 1] = reference
    end
  end
  return found
end

return M
