-- SPDX-License-Identifier: Apache-2.0
-- Choose a serving runtime: filter the candidates, then rank them.
-- Plain indexing and the length operator only, so that the same text runs on
-- Lua 5.1 tables (gopher-lua) and on Lua 5.4 views.
local function format_priority(rt, want)
  local formats = rt.spec.supportedModelFormats
  if formats == nil then return nil end
  for i = 1, #formats do
    local f = formats[i]
    if f.name == want.name and f.autoSelect
      and (want.version == nil or f.version == want.version) then
      return f.priority or 0
    end
  end
  return nil
end

local function speaks(rt, protocol)
  local protocols = rt.spec.protocolVersions
  if protocols == nil then return protocol == "v1" end
  for i = 1, #protocols do
    if protocols[i] == protocol then return true end
  end
  return false
end

local function trusted(rt)
  local containers = rt.spec.containers
  for i = 1, #containers do
    if string.sub(containers[i].image, 1, 10) == "untrusted/" then return false end
  end
  return true
end

local function before(a, b)
  if a.scoped ~= b.scoped then return a.scoped end
  if a.priority ~= b.priority then return a.priority > b.priority end
  if a.created ~= b.created then return a.created > b.created end
  return a.name < b.name
end

function Select(isvc, runtimes)
  local model = isvc.spec.predictor.model
  local protocol = model.protocolVersion or "v1"
  local limits = model.resources and model.resources.limits
  local gpu = limits ~= nil and limits["nvidia.com/gpu"] ~= nil
  local found = {}
  for i = 1, #runtimes do
    local rt = runtimes[i]
    local meta, spec = rt.metadata, rt.spec
    local priority = format_priority(rt, model.modelFormat)
    if priority and not spec.disabled and spec.workerSpec == nil
      and speaks(rt, protocol) and trusted(rt)
      and (not gpu or meta.labels.accelerator ~= "none") then
      found[#found + 1] = { name = meta.name, scoped = meta.namespace ~= nil,
        priority = priority, created = meta.creationTimestamp }
    end
  end
  table.sort(found, before)
  return found[1] and found[1].name or "", #found
end
