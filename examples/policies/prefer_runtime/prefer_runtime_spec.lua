-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("runtime_selection")

local function candidate(name, labels, priority)
  return {
    name = name,
    scope = "cluster",
    created = "2026-01-01T00:00:00Z",
    protocol = 1,
    object = { metadata = { name = name, labels = labels } },
    spec = { supportedModelFormats = { { name = "sklearn", autoSelect = true } } },
    match = { name = "sklearn", autoSelect = true, priority = priority },
  }
end

local function request(service, namespace)
  return {
    service = { metadata = { annotations = service } },
    namespace = namespace and { metadata = { annotations = namespace } },
    model = { modelFormat = { name = "sklearn" } },
    format = { name = "sklearn" },
    protocol = "v1",
    protocol_given = false,
    named = false,
    multi_node = false,
    multi_model = false,
  }
end

local function order(asked)
  local gold = { ["example.com/tier"] = "gold" }
  local candidates = { candidate("a", nil, 9), candidate("b", gold, 1), candidate("c", nil, 1) }
  local names = {}
  table.sort(candidates, function(a, b)
    return policy.before(a, b, asked)
  end)
  for i, one in ipairs(candidates) do
    names[i] = one.name
  end
  return table.concat(names, " ")
end

local KEY = "example.com/preferred-runtimes"

describe("prefer_runtime", function()
  it("takes what the namespace prefers", function()
    assert.are.equal("c a b", order(request(nil, { [KEY] = "c, a" })))
  end)

  it("listens to the service before the namespace", function()
    assert.are.equal("a b c", order(request({ [KEY] = "a" }, { [KEY] = "c" })))
  end)

  it("puts labelled runtimes first when nobody prefers one", function()
    assert.are.equal("b a c", order(request()))
  end)
end)
