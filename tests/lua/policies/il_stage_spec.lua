-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local policy = support.policy("il_stage")

local START = "2024-01-01T00:00:00Z"

--- What a job in this state does next: "Stage/Type +action", "+action" alone when it stays.
local function next_of(stage, kind, phase, hot)
  local decision = policy.transit({
    condition = { stage = stage, type = kind, reported = false, since = START },
    pod = phase and { name = "p", phase = phase, created = START, deleting = false },
    history = {},
    hot_update = hot or false,
    now = "2024-01-01T00:01:00Z",
  })
  if not decision then
    return nil
  end
  local text = decision.type and decision.stage .. "/" .. decision.type or ""
  for _, action in ipairs(decision.actions or {}) do
    text = text .. " +" .. action
  end
  return text
end

describe("il_stage", function()
  it("begins with Train Waiting", function()
    assert.are.equal("Train/Waiting", next_of("Train", ""))
  end)

  it("waits for edge nodes", function()
    for _, stage in ipairs({ "Train", "Eval", "Deploy" }) do
      assert.are.equal("", next_of(stage, "Waiting", "Running"))
    end
  end)

  it("makes a worker, unless one is Pending or Running", function()
    assert.are.equal("Train/Starting +create_worker", next_of("Train", "Ready"))
    assert.are.equal("Eval/Starting +create_worker", next_of("Eval", "Ready", "Succeeded"))
    assert.are.equal("Eval/Starting +create_worker", next_of("Eval", "Ready", "Unknown"))
    assert.are.equal("Train/Starting", next_of("Train", "Ready", "Pending"))
    assert.are.equal("Train/Starting", next_of("Train", "Ready", "Running"))
  end)

  it("follows the worker", function()
    assert.are.equal("", next_of("Train", "Starting", "Pending"))
    assert.are.equal("", next_of("Train", "Running"))
    assert.are.equal("Train/Running +record_node", next_of("Train", "Starting", "Running"))
    assert.are.equal(" +record_node", next_of("Eval", "Running", "Running"))
    assert.are.equal("Eval/Completed", next_of("Eval", "Running", "Succeeded"))
    assert.are.equal("Train/Failed", next_of("Train", "Starting", "Failed"))
  end)

  it("restarts the inference worker, or lets it load the model", function()
    assert.are.equal("Deploy/Completed +restart_inference", next_of("Deploy", "Ready", "Running"))
    assert.are.equal("Deploy/Starting", next_of("Deploy", "Ready", "Running", true))
    assert.are.equal("Deploy/Completed", next_of("Deploy", "Starting", "Running"))
    assert.are.equal("Deploy/Running +record_node", next_of("Deploy", "Starting", "Running", true))
  end)

  it("goes round, and starts over after a failure", function()
    assert.are.equal("Eval/Waiting", next_of("Train", "Completed"))
    assert.are.equal("Deploy/Waiting", next_of("Eval", "Completed"))
    assert.are.equal("Train/Waiting", next_of("Deploy", "Completed"))
    assert.are.equal("Train/Waiting", next_of("Other", "Completed"))
    assert.are.equal("Train/Waiting", next_of("Deploy", "Failed"))
  end)

  it("treats an unknown stage like Eval, and leaves unknown types alone", function()
    assert.are.equal("Other/Starting +create_worker", next_of("Other", "Ready"))
    assert.is_nil(next_of("Train", "Dreaming", "Running"))
  end)

  it("counts every report", function()
    assert.is_true(policy.report({}, { stage = "Eval", type = "Ready" }))
  end)
end)
