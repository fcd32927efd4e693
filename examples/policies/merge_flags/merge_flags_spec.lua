-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("container_merge")

local function merge(runtime, service)
  return policy.args(runtime, service, "kserve-container")
end

describe("merge_flags", function()
  it("replaces a flag whatever its form", function()
    assert.are.same(
      { "--workers=1", "--port", "9000" },
      merge({ "--port=8080", "--workers=1" }, { "--port", "9000" })
    )
  end)

  it("keeps locked flags of the runtime", function()
    assert.are.same(
      { "--model_name=iris", "--port=1" },
      merge({ "--model_name=iris" }, { "--model_name=mine", "--port=1" })
    )
    assert.are.same({ "--model_name=mine" }, merge(nil, { "--model_name=mine" }))
  end)
end)
