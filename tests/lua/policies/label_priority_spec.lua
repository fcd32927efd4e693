-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

describe("label_priority", function()
  local policy = support.policy("label_priority")

  it("puts the runtime lowest and the predictor highest, for both parts and targets", function()
    for _, part in ipairs({ "labels", "annotations" }) do
      for _, target in ipairs({ "head", "worker" }) do
        assert.are.same({ "runtime", "service", "predictor" }, policy.layers(part, target))
      end
    end
  end)

  it("resolves nothing by itself", function()
    assert.is_nil(policy.resolve)
  end)
end)
