-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("runtime_selection")

local function candidate(name, priority, scope)
  return {
    name = name,
    scope = scope or "cluster",
    protocol = 1,
    created = "",
    object = {},
    spec = {},
    match = { name = "sklearn", autoSelect = true, priority = priority },
  }
end

describe("refuse_ties", function()
  it("has nothing against a clear winner", function()
    assert.is_nil(policy.choose({ candidate("a", 2), candidate("b", 1) }, {}))
    assert.is_nil(policy.choose({ candidate("a", 1, "namespace"), candidate("b", 1) }, {}))
  end)

  it("refuses to choose among equals", function()
    assert.has_error(function()
      policy.choose({ candidate("a", 1), candidate("b", 1), candidate("c") }, {})
    end, "a and b fit equally well; name one in spec.predictor.model.runtime")
  end)
end)
