-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local OFFERED = { { name = "sklearn", version = "1" }, { name = "xgboost" } }
local PROTOCOLS = { ["v1"] = 1, ["v2"] = 2, ["grpc-v1"] = 3, ["grpc-v2"] = 4 }

local function request(fields)
  local base = {
    service = {},
    model = {},
    format = { name = "sklearn" },
    protocol = "v1",
    protocol_given = false,
    named = false,
    multi_node = false,
    multi_model = false,
  }
  for key, value in pairs(fields or {}) do
    base[key] = value
  end
  return base
end

local function candidate(name, fields)
  local base = {
    name = name,
    scope = "namespace",
    created = "",
    protocol = 5,
    spec = {},
    match = { name = "sklearn", autoSelect = true },
  }
  for key, value in pairs(fields or {}) do
    base[key] = value
  end
  if base.match == false then
    base.match = nil
  end
  return base
end

local function names(list)
  local result = {}
  for i, entry in ipairs(list) do
    result[i] = entry.name
  end
  return result
end

describe("runtime_selection accept", function()
  local policy = support.policy("runtime_selection")

  local function code(fields, asked)
    local yes, reason, why = policy.accept(candidate("rt", fields), request(asked))
    assert.is_true(yes == true or (yes == false and type(reason) == "string"))
    return yes and "accepted" or why
  end

  it("takes a runtime with an entry for the format", function()
    assert.are.equal("accepted", code({}))
  end)

  it("refuses a disabled one, named or not", function()
    assert.are.equal("disabled", code({ spec = { disabled = true } }))
    assert.are.equal("disabled", code({ spec = { disabled = true } }, { named = true }))
    assert.are.equal("accepted", code({ spec = { disabled = support.null } }))
  end)

  it("tells a missing format from a missing version", function()
    local format = { name = "sklearn", version = "2" }
    local spec = { supportedModelFormats = OFFERED }
    assert.are.equal("version", code({ match = false, spec = spec }, { format = format }))
    assert.are.equal("format", code({ match = false, spec = spec }, { format = { name = "onnx" } }))
  end)

  it("names what was asked and what the runtime offers", function()
    local spec = { supportedModelFormats = OFFERED }
    local _, reason = policy.accept(
      candidate("rt", { match = false, spec = spec }),
      request({ format = { name = "sklearn", version = "2" } })
    )
    assert.are.equal("asked for sklearn 2, the runtime offers sklearn 1, xgboost", reason)
    spec = { protocolVersions = { "v2", "grpc-v2" } }
    _, reason = policy.accept(candidate("rt", { spec = spec }), request())
    assert.are.equal("asked for protocol v1, the runtime speaks v2, grpc-v2", reason)
  end)

  it("wants autoSelect unless the runtime is named", function()
    local match = { name = "sklearn", autoSelect = false }
    assert.are.equal("auto_select", code({ match = match }))
    assert.are.equal("accepted", code({ match = match }, { named = true }))
  end)

  it("checks the protocol of a named runtime only when the model gives one", function()
    local spec = { protocolVersions = { "v2" } }
    assert.are.equal("protocol", code({ spec = spec }))
    assert.are.equal("accepted", code({ spec = spec }, { named = true }))
    assert.are.equal("protocol", code({ spec = spec }, { named = true, protocol_given = true }))
    assert.are.equal("accepted", code({ spec = { protocolVersions = {} } }))
    assert.are.equal("accepted", code({ spec = { protocolVersions = support.null } }))
  end)

  it("wants multi-model and multi-node to agree unless the runtime is named", function()
    assert.are.equal("multi_model", code({ spec = { multiModel = true } }))
    assert.are.equal("multi_model", code({}, { multi_model = true }))
    assert.are.equal("multi_node", code({ spec = { workerSpec = {} } }))
    assert.are.equal("multi_node", code({}, { multi_node = true }))
    local both = { spec = { workerSpec = {}, multiModel = true } }
    assert.are.equal("accepted", code(both, { named = true }))
    assert.are.equal("accepted", code({ spec = { workerSpec = support.null } }))
  end)
end)

describe("runtime_selection before", function()
  local policy = support.policy("runtime_selection")

  it("orders by scope, priority, protocol, age and name", function()
    local function match(priority)
      return { name = "sklearn", autoSelect = true, priority = priority }
    end
    local list = {
      candidate("cluster", { scope = "cluster", match = match(9) }),
      candidate("none", { protocol = 1 }),
      candidate("negative", { match = match(-1) }),
      candidate("old", { match = match(2), protocol = 2, created = "2025-01-01T00:00:00Z" }),
      candidate("new", { match = match(2), protocol = 2, created = "2026-01-01T00:00:00Z" }),
      candidate("v1", { match = match(2), protocol = 1 }),
      candidate("a", { protocol = 1 }),
    }
    local accepted = support.select(policy, request(), list)
    assert.are.same({ "v1", "new", "old", "negative", "a", "none", "cluster" }, names(accepted))
  end)

  it("is a strict order", function()
    local a, b = candidate("a"), candidate("b")
    assert.is_false(policy.before(a, a))
    assert.is_true(policy.before(a, b))
    assert.is_false(policy.before(b, a))
  end)
end)

-- ---- what the original answered, 300 times ----

--- The entry that fits, with the priority that the original uses: that of the first entry of the
--- name.
local function match_of(spec, model)
  local format = model.modelFormat
  local first, fits
  for _, entry in ipairs(spec.supportedModelFormats or {}) do
    if entry.name == format.name then
      first = first or entry
      local same = format.version == nil or entry.version == format.version
      if same and (not fits or (entry.autoSelect == true and not fits.autoSelect)) then
        fits = entry
      end
    end
  end
  -- Asked with a runtime in the model, the original takes every entry.
  local auto = fits and (fits.autoSelect == true or model.runtime ~= nil)
  return fits and { name = fits.name, autoSelect = auto, priority = first.priority }
end

local function candidate_of(object, scope, model)
  local protocol = 5
  for _, version in ipairs(object.spec.protocolVersions or {}) do
    protocol = math.min(protocol, PROTOCOLS[version] or 5)
  end
  return {
    name = object.metadata.name,
    scope = scope,
    created = object.metadata.creationTimestamp or "",
    protocol = protocol,
    object = object,
    spec = object.spec,
    match = match_of(object.spec, model) or nil,
  }
end

local function items(list)
  return list ~= support.null and list or {}
end

describe("runtime_selection", function()
  it("supports the runtimes that the original supports, in its order", function()
    local policy = support.policy("runtime_selection")
    local rows = support.lines("tests/cases/functions/supporting_runtimes.ndjson")
    assert.are.equal(300, #rows)
    for _, row in ipairs(rows) do
      local input, list = row["in"], {}
      for _, object in ipairs(items(input.servingRuntimes)) do
        if object.metadata.namespace == input.namespace then
          list[#list + 1] = candidate_of(object, "namespace", input.model)
        end
      end
      for _, object in ipairs(items(input.clusterServingRuntimes)) do
        list[#list + 1] = candidate_of(object, "cluster", input.model)
      end
      local asked = request({
        format = input.model.modelFormat,
        protocol = input.model.protocolVersion or "v1",
        multi_model = input.isMMS,
        multi_node = input.isMultiNode,
      })
      local accepted = support.select(policy, asked, list)
      assert.are.same(items(row.out.names), names(accepted), "row " .. row.id)
    end
  end)
end)
