-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

describe("object_patch", function()
  it("patches nothing", function()
    assert.is_nil(support.policy("object_patch").patch({ kind = "Deployment" }, {}))
  end)
end)
