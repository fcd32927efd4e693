-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local START = "2024-01-01T00:00:00Z"

local function at(seconds)
  local minutes = seconds // 60
  return string.format("2024-01-01T%02d:%02d:%02dZ", minutes // 60, minutes % 60, seconds % 60)
end

--- The policy with options laid over its own.
local function policy_with(options)
  return support.policy("il_stage_resilient", { options = options })
end

local policy = policy_with()

--- history: {{"Train", "Ready", seconds, data, reason}, …}; the last one is the state.
local function input(history, fields)
  local entries = {}
  for i, row in ipairs(history) do
    entries[i] = { stage = row[1], type = row[2], at = at(row[3]), data = row[4], reason = row[5] }
  end
  local last = entries[#entries]
  local result = {
    job = { metadata = { annotations = {} } },
    condition = last and {
      stage = last.stage,
      type = last.type,
      since = last.at,
      data = last.data,
      reason = last.reason,
    } or { stage = "Train", type = "", since = "" },
    history = entries,
    hot_update = false,
    now = at(history[#history] and history[#history][3] + 10 or 0),
  }
  for name, value in pairs(fields or {}) do
    result[name] = value
  end
  return result
end

local function pod(phase, created, deleting)
  return { name = "p", phase = phase, created = at(created), deleting = deleting or false }
end

local function state(decision)
  return decision and decision.type and decision.stage .. "/" .. decision.type
end

local function ready(round)
  local folder = "/output/train/" .. round
  local models = { { url = "/models/init" } }
  return { input = { models = models, outputDir = folder, dataURL = "/d" .. round } }
end

local function trained(round)
  return { output = { models = { { url = "/output/train/" .. round .. "/model.ckpt" } } } }
end

describe("il_stage_resilient", function()
  it("begins with Train Waiting", function()
    assert.are.equal("Train/Waiting", state(policy.transit(input({}))))
  end)

  it("waits for samples without end, for Eval and Deploy up to a deadline", function()
    local train = policy.transit(input({ { "Train", "Waiting", 0 } }))
    assert.is_nil(train.after)
    local rows = { { "Train", "Waiting", 0 }, { "Eval", "Waiting", 100 } }
    assert.are.equal(1790, policy.transit(input(rows)).after)
    local late = policy.transit(input(rows, { now = at(100 + 1800) }))
    assert.are.equal("Eval/Failed", state(late))
    assert.are.equal("no report of an edge node within 1800 s", late.reason)
  end)

  it("makes a worker and deletes one that an earlier round left", function()
    local rows = { { "Train", "Waiting", 0 }, { "Train", "Ready", 100, ready(2) } }
    assert.are.same({ "create_worker" }, policy.transit(input(rows)).actions)
    local old = policy.transit(input(rows, { pod = pod("Running", 50) }))
    assert.are.same({ "delete_worker", "create_worker" }, old.actions)
    local done = policy.transit(input(rows, { pod = pod("Succeeded", 50) }))
    assert.are.same({ "create_worker" }, done.actions)
    local own = policy.transit(input(rows, { pod = pod("Pending", 100) }))
    assert.are.equal("Train/Starting", state(own))
    assert.is_nil(own.actions)
  end)

  it("waits for the report of a worker that succeeded", function()
    local rows = {
      { "Train", "Waiting", 0 },
      { "Train", "Ready", 10, ready(1) },
      { "Train", "Starting", 10 },
      { "Train", "Running", 20 },
    }
    local decision = policy.transit(input(rows, { pod = pod("Succeeded", 11) }))
    assert.are.equal("Train/Succeeded", state(decision))
    rows[5] = { "Train", "Succeeded", 100 }
    assert.are.equal(290, policy.transit(input(rows)).after)
    assert.are.equal("Train/Failed", state(policy.transit(input(rows, { now = at(400) }))))
  end)

  it("fails when the worker is gone, does not start, or hangs, which deletes it", function()
    local rows = {
      { "Train", "Waiting", 0 },
      { "Train", "Ready", 10, ready(1) },
      { "Train", "Starting", 10 },
    }
    assert.are.equal(890, policy.transit(input(rows, { pod = pod("Pending", 10) })).after)
    local slow = policy.transit(input(rows, { pod = pod("Pending", 10), now = at(910) }))
    assert.are.equal("Train/Failed", state(slow))
    assert.are.same({ "delete_worker" }, slow.actions)
    rows[3] = { "Train", "Running", 20 }
    assert.are.equal("the worker is gone", policy.transit(input(rows)).reason)
    local short = policy_with({ train_running_seconds = 60 })
    local hung = short.transit(input(rows, { pod = pod("Running", 11), now = at(80) }))
    assert.are.equal("Train/Failed", state(hung))
    assert.are.same({ "delete_worker" }, hung.actions)
  end)

  it("does not take the last round's pod for this round's", function()
    local rows = {
      { "Train", "Waiting", 0 },
      { "Train", "Ready", 100, ready(2) },
      { "Train", "Starting", 100 },
    }
    local decision = policy.transit(input(rows, { pod = pod("Succeeded", 50) }))
    assert.is_nil(decision.type)
    assert.are.equal("the worker is not there", decision.note)
  end)

  it("tries the failed stage again after a pause, with the same input, and gives up", function()
    local rows = {
      { "Train", "Waiting", 0 },
      { "Train", "Ready", 10, ready(1) },
      { "Train", "Failed", 100, nil, "the worker p failed" },
    }
    assert.are.equal(10 - 5, policy.transit(input(rows, { now = at(105) })).after)
    local again = policy.transit(input(rows, { now = at(110) }))
    assert.are.equal("Train/Ready", state(again))
    assert.are.same(ready(1), again.data)
    rows[4] = { "Train", "Ready", 110, ready(1) }
    rows[5] = { "Train", "Failed", 200 }
    assert.are.equal(20 - 10, policy.transit(input(rows)).after)
    rows[6] = { "Train", "Failed", 300, nil, "the worker q failed" }
    local end_of_it = policy.transit(input(rows))
    assert.are.equal("Train/GaveUp", state(end_of_it))
    assert.are.equal("Train failed 3 times, at last: the worker q failed", end_of_it.reason)
  end)

  it("tries a stage that nobody was ready for by waiting again", function()
    local rows = { { "Train", "Waiting", 0 }, { "Eval", "Waiting", 5 }, { "Eval", "Failed", 100 } }
    assert.are.equal("Eval/Waiting", state(policy.transit(input(rows))))
  end)

  it("counts the tries of this round only", function()
    local rows = {
      { "Train", "Failed", 1 },
      { "Train", "Failed", 2 },
      { "Train", "Waiting", 3 },
      { "Train", "Ready", 4, ready(2) },
      { "Train", "Failed", 5 },
    }
    assert.are.equal("Train/Ready", state(policy.transit(input(rows))))
  end)

  it("leaves GaveUp when somebody asks, or after a time", function()
    local rows = { { "Train", "Waiting", 0 }, { "Train", "GaveUp", 100 } }
    assert.is_nil(policy.transit(input(rows)).type)
    local job = { metadata = { annotations = { ["perigee.dev/resume"] = at(200) } } }
    assert.are.equal("Train/Waiting", state(policy.transit(input(rows, { job = job }))))
    job = { metadata = { annotations = { ["perigee.dev/resume"] = START } } }
    assert.is_nil(policy.transit(input(rows, { job = job })).type)
    local patient = policy_with({ resume_after_seconds = 60 })
    assert.are.equal(50, patient.transit(input(rows)).after)
    assert.are.equal("Train/Waiting", state(patient.transit(input(rows, { now = at(160) }))))
  end)

  it("pauses between workers and goes on where it was", function()
    local job = { metadata = { annotations = { ["perigee.dev/pause"] = "true" } } }
    local rows = { { "Train", "Waiting", 0 }, { "Train", "Ready", 10, ready(1) } }
    local paused = policy.transit(input(rows, { job = job }))
    assert.are.equal("Train/Paused", state(paused))
    assert.are.same(ready(1), paused.data)
    rows[3] = { "Train", "Paused", 20, ready(1) }
    assert.is_nil(policy.transit(input(rows, { job = job })).type)
    local resumed = policy.transit(input(rows))
    assert.are.equal("Train/Ready", state(resumed))
    assert.are.same(ready(1), resumed.data)
    rows[3] = { "Train", "Running", 20 }
    assert.is_nil(policy.transit(input(rows, { job = job, pod = pod("Running", 11) })).type)
  end)

  it("waits for the restarted inference worker before Deploy is completed", function()
    local rows = { { "Train", "Waiting", 0 }, { "Deploy", "Ready", 10 } }
    local old = pod("Running", 1)
    local decision = policy.transit(input(rows, { pod = old, inference = old }))
    assert.are.equal("Deploy/Starting", state(decision))
    assert.are.same({ "restart_inference" }, decision.actions)
    rows[3] = { "Deploy", "Starting", 10 }
    assert.is_nil(policy.transit(input(rows, { pod = pod("Pending", 10) })).type)
    local runs = policy.transit(input(rows, { pod = pod("Running", 10) }))
    assert.are.equal("Deploy/Completed", state(runs))
    local failed = policy.transit(input(rows, { pod = pod("Failed", 10) }))
    assert.are.equal("Deploy/Failed", state(failed))
  end)

  it("makes the inference worker for a hot update when it is gone", function()
    local rows = { { "Train", "Waiting", 0 }, { "Deploy", "Ready", 10 } }
    local gone = policy.transit(input(rows, { hot_update = true }))
    assert.are.same({ "create_inference" }, gone.actions)
    local there = { hot_update = true, inference = pod("Running", 1) }
    assert.is_nil(policy.transit(input(rows, there)).actions)
  end)

  it("keeps the history bounded", function()
    assert.are.equal(100, policy.transit(input({})).keep)
    assert.are.equal(20, policy_with({ keep = 1 }).transit(input({})).keep)
  end)
end)

describe("il_stage_resilient options", function()
  local function said(options)
    local made = policy_with(options)
    local ok, why = pcall(made.transit, input({ { "Train", "Waiting", 0 } }))
    return ok or tostring(why)
  end

  it("are whole numbers that can be meant", function()
    assert.is_true(said({ tries = 1, backoff_seconds = 0, start_seconds = 1, report_seconds = 0 }))
    assert.matches("option 'tries' of il_stage is %-1: .* at least 1", said({ tries = -1 }))
    assert.matches("option 'tries' of il_stage is 0:", said({ tries = 0 }))
    assert.matches("option 'tries' of il_stage is 0%.5:", said({ tries = 0.5 }))
    assert.matches("'start_seconds' .* is %-3: .* at least 1", said({ start_seconds = -3 }))
    assert.matches("'report_seconds' .* is %-3: .* at least 0", said({ report_seconds = -3 }))
    assert.matches("option 'keep' of il_stage is ten:", said({ keep = "ten" }))
  end)

  it("are looked at for reports, too", function()
    local made = policy_with({ duplicate_seconds = -1 })
    local report = { stage = "Train", type = "Ready", data = ready(1) }
    assert.is_false(pcall(made.report, input({ { "Train", "Waiting", 0 } }), report))
  end)
end)

describe("il_stage_resilient reports", function()
  local function verdict(history, stage, kind, data, fields)
    return { policy.report(input(history, fields), { stage = stage, type = kind, data = data }) }
  end

  local waiting = { { "Train", "Waiting", 0 } }
  local running = {
    { "Train", "Waiting", 0 },
    { "Train", "Ready", 10, ready(2) },
    { "Train", "Running", 20 },
  }

  it("count when they fit the state", function()
    assert.is_true(verdict(waiting, "Train", "Ready", ready(1))[1])
    assert.is_true(verdict(running, "Train", "Completed", trained(2))[1])
    assert.is_true(verdict(running, "Train", "Failed")[1])
    local deploy = { { "Train", "Waiting", 0 }, { "Deploy", "Waiting", 9 } }
    assert.is_true(verdict(deploy, "Deploy", "Completed")[1])
  end)

  it("do not count for another stage, or to begin one", function()
    local other = verdict(running, "Eval", "Completed", trained(2))
    assert.are.same({ false, "the job is at Train Running" }, other)
    local begin = verdict(running, "Train", "Waiting")
    assert.are.same({ false, "edge nodes do not begin stages" }, begin)
    assert.is_false(verdict(waiting, "Train", "Completed", trained(1))[1])
  end)

  it("do not count twice", function()
    assert.is_false(verdict(running, "Train", "Ready", ready(2))[1])
    local next_round = {
      { "Train", "Ready", 10, ready(1) },
      { "Deploy", "Completed", 50 },
      { "Train", "Waiting", 60 },
    }
    assert.is_false(verdict(next_round, "Train", "Ready", ready(1))[1])
    assert.is_true(verdict(next_round, "Train", "Ready", ready(2))[1])
    assert.is_true(verdict(next_round, "Train", "Ready", ready(1), { now = at(10 + 600) })[1])
    assert.is_false(verdict({ { "Train", "Failed", 10 } }, "Train", "Failed")[1])
  end)

  it("do not count for another round", function()
    assert.are.same(
      { false, "its model is not in /output/train/2, so it is of another round" },
      verdict(running, "Train", "Completed", trained(1))
    )
    local eval = {
      { "Train", "Waiting", 0 },
      { "Train", "Completed", 50, trained(2) },
      { "Eval", "Waiting", 50 },
    }
    local models = { { url = "/output/train/1/model.ckpt" }, { url = "/m" } }
    local about = { input = { models = models } }
    assert.is_false(verdict(eval, "Eval", "Ready", about)[1])
    about.input.models[1].url = "/output/train/2/model.ckpt"
    assert.is_true(verdict(eval, "Eval", "Ready", about)[1])
  end)

  it("need what the next stage works with", function()
    assert.is_false(verdict(waiting, "Train", "Ready", {})[1])
    local empty = verdict(running, "Train", "Completed", {})
    assert.are.same({ false, "it carries no model" }, empty)
  end)

  it("count while the job is paused as they did before", function()
    local paused = { { "Train", "Waiting", 0 }, { "Train", "Paused", 10 } }
    assert.is_true(verdict(paused, "Train", "Ready", ready(1))[1])
  end)

  it("that come late for a failed try still save it", function()
    local failed = {
      { "Train", "Waiting", 0 },
      { "Train", "Ready", 10, ready(2) },
      { "Train", "Failed", 50 },
    }
    assert.is_true(verdict(failed, "Train", "Completed", trained(2))[1])
  end)

  it("never count after the job gave up", function()
    assert.is_false(verdict({ { "Train", "GaveUp", 0 } }, "Train", "Completed", trained(1))[1])
  end)
end)
