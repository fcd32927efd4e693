-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("runtime_selection")

local function candidate(name, free, priority)
  return {
    name = name,
    scope = "cluster",
    protocol = 1,
    created = "",
    object = { metadata = { annotations = { ["example.com/free-gpus"] = free } } },
    spec = {},
    match = { name = "onnx", autoSelect = true, priority = priority },
  }
end

local function first(gpus, a, b)
  local resources = { limits = { ["nvidia.com/gpu"] = gpus } }
  local request = { model = { resources = resources }, service = {} }
  local before = policy.before(a, b, request)
  assert.is_false(before and policy.before(b, a, request))
  return before and a.name or b.name
end

describe("route_by_capacity", function()
  it("prefers the smallest room that suffices", function()
    assert.are.equal("small", first("2", candidate("small", "2"), candidate("large", "8")))
    assert.are.equal("large", first("4", candidate("small", "2"), candidate("large", "8")))
  end)

  it("puts runtimes that nobody knows about behind those with room", function()
    assert.are.equal("known", first("1", candidate("unknown"), candidate("known", "1")))
  end)

  it("falls back on the shipped order", function()
    assert.are.equal("b", first("1", candidate("a", "0", 1), candidate("b", "x", 2)))
  end)
end)
