-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("object_patch")
local given = { ["cost-centre"] = "42", team = "a", app = "x" }
local service = { metadata = { name = "iris", labels = given } }

describe("cost_centre", function()
  it("labels the object and its pods", function()
    local object = {
      kind = "Deployment",
      metadata = { labels = { app = "iris" } },
      spec = { template = { metadata = { labels = { app = "iris", team = "b" } } } },
    }
    assert.are.same({
      metadata = { labels = { ["cost-centre"] = "42", team = "a" } },
      spec = { template = { metadata = { labels = { ["cost-centre"] = "42" } } } },
    }, policy.patch(object, service))
  end)

  it("labels objects without pods", function()
    assert.are.same(
      { metadata = { labels = { ["cost-centre"] = "42", team = "a" } } },
      policy.patch({ kind = "Service", metadata = { name = "iris" }, spec = {} }, service)
    )
  end)

  it("changes nothing when all is there", function()
    local object = { metadata = { labels = { ["cost-centre"] = "1", team = "b" } } }
    assert.is_nil(policy.patch(object, service))
    assert.is_nil(policy.patch(object, { metadata = {} }))
  end)
end)
