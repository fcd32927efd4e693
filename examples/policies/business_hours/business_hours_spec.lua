-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("il_stage")

local function decide(now, stage, annotations)
  return policy.transit({
    job = { metadata = { name = "helmet", annotations = annotations } },
    condition = { stage = stage or "Deploy", type = "Ready", reported = true, since = now },
    history = {},
    hot_update = false,
    now = now,
  })
end

describe("business_hours", function()
  it("deploys on a working day", function()
    assert.are.equal("Completed", decide("2026-06-01T09:00:00Z").type) -- a Monday
    assert.are.equal("Completed", decide("2026-06-05T15:59:00Z").type)
  end)

  it("waits at night and on weekends", function()
    local closed = {
      "2026-06-01T08:59:00Z",
      "2026-06-01T16:00:00Z",
      "2026-06-06T12:00:00Z",
      "2024-02-25T12:00:00Z",
    }
    for _, now in ipairs(closed) do
      local decision = decide(now)
      assert.is_nil(decision.type)
      assert.are.equal(600, decision.after)
    end
  end)

  it("goes ahead when somebody says so", function()
    local hurried = { ["example.com/deploy-now"] = "true" }
    assert.are.equal("Completed", decide("2026-06-06T12:00:00Z", "Deploy", hurried).type)
  end)

  it("holds up no other stage", function()
    assert.are.equal("Starting", decide("2026-06-06T12:00:00Z", "Train").type)
  end)
end)
