-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

describe("container_merge", function()
  it("has no opinion: the planner's merge stands", function()
    local policy = support.policy("container_merge")
    assert.is_nil(policy.args({ "--a" }, { "--b" }, "kserve-container"))
    assert.is_nil(policy.env("A", { name = "A" }, { name = "A" }, "kserve-container"))
  end)
end)
