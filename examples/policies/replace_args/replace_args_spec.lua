-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("container_merge")

describe("replace_args", function()
  it("takes the service's arguments alone", function()
    assert.are.same({ "--b" }, policy.args({ "--a", "1" }, { "--b" }, "kserve-container"))
  end)

  it("leaves the runtime's when the service has none", function()
    assert.are.same({ "--a" }, policy.args({ "--a" }, nil, "kserve-container"))
    assert.are.same({ "--a" }, policy.args({ "--a" }, {}, "kserve-container"))
    assert.is_nil(policy.args(nil, nil, "kserve-container"))
  end)
end)
