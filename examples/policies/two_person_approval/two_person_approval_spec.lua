-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("runtime_selection")

local candidate = {
  name = "sklearn",
  scope = "cluster",
  protocol = 5,
  created = "",
  object = {},
  spec = { supportedModelFormats = { { name = "sklearn", autoSelect = true } } },
  match = { name = "sklearn", autoSelect = true },
}

local function accepts(approved, environment)
  return policy.accept(candidate, {
    service = { metadata = { annotations = { ["example.com/approved"] = approved } } },
    namespace = { metadata = { labels = { environment = environment } } },
    model = { modelFormat = { name = "sklearn" }, storageUri = "s3://m/7" },
    format = { name = "sklearn" },
    protocol = "v1",
    protocol_given = false,
    named = false,
    multi_node = false,
    multi_model = false,
  })
end

describe("two_person_approval", function()
  it("takes two people for production", function()
    assert.is_true((accepts("alice=s3://m/7, bob=s3://m/7", "production")))
    local yes, reason, code = accepts("alice=s3://m/7", "production")
    assert.are.same({ false, "other" }, { yes, code })
    assert.are.equal("1 of 2 people have approved 's3://m/7' in example.com/approved", reason)
  end)

  it("counts nobody twice, nor approvals of another model", function()
    assert.is_false((accepts("alice=s3://m/7,alice=s3://m/7", "production")))
    assert.is_false((accepts("alice=s3://m/7,bob=s3://m/6", "production")))
  end)

  it("asks nobody elsewhere", function()
    assert.is_true((accepts(nil, "test")))
  end)
end)
