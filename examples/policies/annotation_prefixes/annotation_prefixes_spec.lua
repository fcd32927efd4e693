-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("annotation_filter", {
  options = {
    drop = { "example.com/", "kubectl.kubernetes.io/" },
    keep = { "example.com/public-" },
  },
})

local function keep(key)
  return (policy.keep(key, "x", "service", {}))
end

describe("annotation_prefixes", function()
  it("drops by prefix, keeps by a longer one", function()
    assert.is_false(keep("example.com/owner"))
    assert.is_true(keep("example.com/public-note"))
    assert.is_false(keep("kubectl.kubernetes.io/last-applied-configuration"))
  end)

  it("has no opinion on the rest", function()
    assert.is_nil(keep("serving.kserve.io/autoscalerClass"))
  end)
end)
