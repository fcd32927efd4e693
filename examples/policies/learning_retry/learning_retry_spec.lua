-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("il_stage_resilient")

local function entry(stage, kind, at)
  return { stage = stage, type = kind, at = at, reported = false }
end

--- What is decided about a job whose Train stage failed so many times, the last time at 12:00.
local function decide(failures, now, annotations)
  local history = { entry("Train", "Waiting", "2026-06-01T08:00:00Z") }
  for i = 1, failures do
    history[#history + 1] = entry("Train", "Ready", "2026-06-01T08:00:00Z")
    local at = i < failures and "2026-06-01T09:00:00Z" or "2026-06-01T12:00:00Z"
    history[#history + 1] = entry("Train", "Failed", at)
  end
  local last = history[#history]
  return policy.transit({
    job = { metadata = { name = "helmet", annotations = annotations or {} } },
    condition = { stage = last.stage, type = last.type, since = last.at, reported = false },
    history = history,
    hot_update = false,
    now = now,
  })
end

describe("learning_retry", function()
  it("waits before it tries again", function()
    local decision = decide(1, "2026-06-01T12:00:01Z")
    assert.is_nil(decision.type)
    assert.is_true(decision.after > 0)
  end)

  it("tries the stage that failed again", function()
    local decision = decide(1, "2026-06-01T14:00:00Z")
    assert.are.equal("Train", decision.stage)
    assert.are_not.equal("GaveUp", decision.type)
  end)

  it("gives up in the end", function()
    assert.are.equal("GaveUp", decide(20, "2026-06-01T14:00:00Z").type)
  end)

  it("pauses when somebody asks for it", function()
    local paused = { ["perigee.dev/pause"] = "true" }
    assert.are.equal("Paused", decide(1, "2026-06-01T14:00:00Z", paused).type)
  end)
end)
