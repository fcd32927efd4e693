-- SPDX-License-Identifier: Apache-2.0
--- Which serving runtimes fit a model, and in which order: KServe's rules. See policy-guide.md,
--- "runtime_selection".
---@type perigee.RuntimeSelectionPolicy
local M = { api = "runtime_selection/v1" }

local explain, json = perigee.explain, perigee.json

---@param candidate perigee.Candidate
---@param request perigee.RuntimeRequest
---@param spec k8s.ServingRuntimeSpec
---@return boolean fits
---@return string? reason
---@return string? code
local function check_format(candidate, request, spec)
  local match = candidate.match
  if match and (match.autoSelect or request.named) then
    return true
  end
  local asked = request.format
  if match then
    local entry = explain.format(asked)
    local reason = "the entry for " .. entry .. " is not for automatic selection (autoSelect)"
    return false, reason, "auto_select"
  end
  local offered = spec.supportedModelFormats
  local has_name = asked.version and json.find(offered, "name", asked.name)
  return false, explain.offer(asked, offered), has_name and "version" or "format"
end

---@param request perigee.RuntimeRequest
---@param spec k8s.ServingRuntimeSpec
---@return boolean fits
---@return string? reason
---@return string? code
local function check_protocol(request, spec)
  local spoken = json.given(spec.protocolVersions)
  if not spoken or #spoken == 0 then
    return true
  end
  for _, protocol in ipairs(spoken) do
    if protocol == request.protocol then
      return true
    end
  end
  local offered = table.concat(spoken, ", ")
  local reason = "asked for protocol " .. request.protocol .. ", the runtime speaks " .. offered
  return false, reason, "protocol"
end

--- A runtime that the service names is checked for less: it may be one that is never chosen by
--- itself.
local function accept_named(candidate, request, spec)
  if request.protocol_given then
    local speaks, reason, code = check_protocol(request, spec)
    if not speaks then
      return speaks, reason, code
    end
  end
  return check_format(candidate, request, spec)
end

---@param candidate perigee.Candidate
---@param request perigee.RuntimeRequest
---@return boolean accepted
---@return string? reason why not
---@return string? code
function M.accept(candidate, request)
  local spec = candidate.spec
  if spec.disabled == true then
    return false, "the runtime is disabled", "disabled"
  end
  if request.named then
    return accept_named(candidate, request, spec)
  end
  if (spec.multiModel == true) ~= request.multi_model then
    return false,
      request.multi_model and "the service is multi-model, the runtime serves one model"
        or "the runtime is multi-model, the service has one model",
      "multi_model"
  end
  local fits, reason, code = check_format(candidate, request, spec)
  if fits then
    fits, reason, code = check_protocol(request, spec)
  end
  if not fits then
    return fits, reason, code
  end
  if (json.given(spec.workerSpec) ~= nil) ~= request.multi_node then
    return false,
      request.multi_node and "the service has a workerSpec, the runtime has none"
        or "the runtime has a workerSpec, the service has none",
      "multi_node"
  end
  return true
end

--- Runtimes without a priority come last, even after negative ones.
---@param candidate perigee.Candidate
---@return integer
local function priority(candidate)
  local match = candidate.match
  return match and match.priority or math.mininteger
end

---@param a perigee.Candidate
---@param b perigee.Candidate
---@return boolean a_first
function M.before(a, b)
  if a.scope ~= b.scope then
    return a.scope == "namespace"
  end
  local first, second = priority(a), priority(b)
  if first ~= second then
    return first > second
  end
  if a.protocol ~= b.protocol then
    return a.protocol < b.protocol
  end
  if a.created ~= b.created then
    return a.created > b.created
  end
  return a.name < b.name
end

return M
