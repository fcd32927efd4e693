-- SPDX-License-Identifier: Apache-2.0
--- The stage machine of il_stage with what keeps a job going when edge nodes, workers or messages
--- are lost: a deadline for each state, retries of the stage that failed, a limit to them, a pause.
--- `use: {il_stage: il_stage_resilient}` in policies.yaml switches to it. See
--- docs/incremental-learning.md.
---
---   type       waits for                           until                    then
---   Waiting    the edge node's Ready               *_waiting_seconds        Failed
---   Ready      nothing: makes the worker            start_seconds           Failed
---   Starting   a running worker                    start_seconds            Failed
---   Running    the worker's end, the report        *_running_seconds        Failed
---   Succeeded  the report of a worker that ended   report_seconds           Failed
---   Failed     the pause before the next try       backoff_seconds * 2^n    Ready, Waiting, GaveUp
---   Paused     annotation perigee.dev/pause to go                           what it was before
---   GaveUp     annotation perigee.dev/resume       resume_after_seconds     Train Waiting
---
--- All that has to be remembered is in the conditions: a round begins with Train Waiting, and the
--- tries of a stage are its Failed conditions since then.
local M = {
  api = "il_stage/v1",
  options = {
    tries = 3, -- of a stage in one round
    backoff_seconds = 10, -- before the second try; doubled each time
    backoff_most_seconds = 360,
    train_waiting_seconds = 0, -- an edge node may wait for samples as long as it likes
    eval_waiting_seconds = 1800,
    deploy_waiting_seconds = 1800,
    start_seconds = 900, -- a worker may be Pending or away
    train_running_seconds = 86400,
    eval_running_seconds = 21600,
    deploy_running_seconds = 3600,
    report_seconds = 300, -- a worker that succeeded was to report by then
    duplicate_seconds = 600, -- the same Train Ready again within this time is the same report
    resume_after_seconds = 0, -- a job that gave up starts a new round; 0: when somebody asks for it
    keep = 100, -- conditions kept; what edge nodes look back for always stays
  },
}

local PAUSE, RESUME = "perigee.dev/pause", "perigee.dev/resume"
local NEXT = { Train = "Eval", Eval = "Deploy", Deploy = "Train" }
local LEAST_KEPT = 20

local json, times = perigee.json, perigee.times

-- ---- options ----

--- What 0 would end at once is at least 1; of the other times it means "as long as it takes".
local LEAST = { tries = 1, start_seconds = 1, keep = 1 }

local function check_options()
  for name, value in pairs(options) do
    local least = LEAST[name] or 0
    if math.type(value) ~= "integer" or value < least then
      local wrong = "option '%s' of il_stage is %s: write a whole number, at least %d"
      error(wrong:format(name, tostring(value), least), 0)
    end
  end
end

-- ---- looking back ----

--- Index of the last entry that fits, not before `from`; nil without one.
local function last_index(history, stage, kind, from)
  for i = #history, from or 1, -1 do
    if history[i].stage == stage and history[i].type == kind then
      return i
    end
  end
end

local function round_start(history)
  return last_index(history, "Train", "Waiting") or 1
end

--- The Ready of this round that a stage works on.
local function ready_of(input, stage)
  local history = input.history
  local i = last_index(history, stage, "Ready", round_start(history))
  return i and history[i]
end

local function failures(input, stage)
  local history, count = input.history, 0
  for i = round_start(history), #history do
    local entry = history[i]
    if entry.stage == stage and entry.type == "Failed" then
      count = count + 1
    end
  end
  return count
end

--- The condition that counts: while the job is paused, the one before.
local function effective(input)
  local history = input.history
  for i = #history, 1, -1 do
    if history[i].type ~= "Paused" then
      return history[i]
    end
  end
  return { stage = "Train", type = "" }
end

local function annotation(input, name)
  return json.at(input.job, "metadata", "annotations", name)
end

--- The stage's worker, unless it is one of an earlier round.
local function own_pod(input)
  local stage, history = input.condition.stage, input.history
  local first = nil
  for i = round_start(history), #history do
    if history[i].stage == stage and history[i].type == "Ready" then
      first = history[i].at
      break
    end
  end
  local pod = input.pod
  if not pod or (stage ~= "Deploy" and first and pod.created < first) then
    return nil
  end
  return pod
end

local function is_up(pod)
  return pod ~= nil and not pod.deleting and (pod.phase == "Pending" or pod.phase == "Running")
end

-- ---- answers ----

local function go(stage, kind, reason, more)
  local decision = {
    stage = stage,
    type = kind,
    reason = reason,
    keep = math.max(options.keep, LEAST_KEPT),
  }
  for name, value in pairs(more or {}) do
    decision[name] = value
  end
  return decision
end

--- Stays, and is asked again when `seconds` have passed since the condition (0: no deadline); over
--- the time it fails with this reason.
local function stay(input, seconds, note, reason, more)
  local condition = input.condition
  if seconds <= 0 then
    local decision = more or {}
    decision.note = note
    return decision
  end
  local left = seconds - times.between(condition.since, input.now)
  if left <= 0 then
    return go(condition.stage, "Failed", reason .. " within " .. seconds .. " s")
  end
  local decision = { note = note, after = left }
  for name, value in pairs(more or {}) do
    decision[name] = value
  end
  return decision
end

--- A worker that hangs is deleted with the failure, so that the next try has the node for itself.
local function stay_or_delete(input, seconds, note, reason, more)
  local decision = stay(input, seconds, note, reason, more)
  if decision.type == "Failed" and is_up(own_pod(input)) and input.condition.stage ~= "Deploy" then
    decision.actions = { "delete_worker" }
  end
  return decision
end

local function stage_seconds(stage, what)
  return options[stage:lower() .. "_" .. what .. "_seconds"] or options.eval_running_seconds
end

local function again(input, stage)
  local ready = ready_of(input, stage)
  if ready then
    return go(stage, "Ready", "next try", { data = ready.data })
  end
  return go(stage, "Waiting", "next try")
end

-- ---- what each type does ----

local ON = {}

ON[""] = function()
  return go("Train", "Waiting", nil, { note = "the job begins" })
end

function ON.Waiting(input)
  local stage = input.condition.stage
  local seconds = stage_seconds(stage, "waiting")
  return stay(input, seconds, "an edge node has to report", "no report of an edge node")
end

function ON.Ready(input)
  local stage = input.condition.stage
  if times.between(input.condition.since, input.now) >= options.start_seconds then
    local seconds = options.start_seconds
    return go(stage, "Failed", "the worker could not be made within " .. seconds .. " s")
  end
  if stage == "Deploy" then
    if not input.hot_update then
      return go(stage, "Starting", nil, {
        actions = { "restart_inference" },
        note = "the inference worker starts anew with the new model",
      })
    end
    local actions = not is_up(input.inference) and { "create_inference" } or nil
    return go(stage, "Starting", nil, {
      actions = actions,
      note = "the inference worker loads the new model while it runs",
    })
  end
  if is_up(own_pod(input)) then
    return go(stage, "Starting", nil, { note = "a worker of this round is there already" })
  end
  local actions = { "create_worker" }
  if is_up(input.pod) then
    actions = { "delete_worker", "create_worker" }
  end
  return go(stage, "Starting", nil, { actions = actions, note = "the samples are ready" })
end

local function on_pod_end(input, pod)
  local stage = input.condition.stage
  if pod.phase == "Failed" then
    return go(stage, "Failed", "the worker " .. pod.name .. " failed")
  end
  if stage == "Deploy" then
    return go(stage, "Failed", "the inference worker " .. pod.name .. " ended")
  end
  return go(stage, "Succeeded", nil, { note = "the worker is done; its report is awaited" })
end

function ON.Starting(input)
  local stage, pod = input.condition.stage, own_pod(input)
  if pod and not pod.deleting then
    if pod.phase == "Failed" or pod.phase == "Succeeded" then
      return on_pod_end(input, pod)
    end
    if pod.phase == "Running" then
      if stage == "Deploy" and not input.hot_update then
        return go(stage, "Completed", nil, { note = "the inference worker runs" })
      end
      return go(stage, "Running", nil, { actions = { "record_node" }, note = "the worker runs" })
    end
  end
  local note = pod and "the worker is " .. pod.phase or "the worker is not there"
  return stay_or_delete(input, options.start_seconds, note, "the worker did not start")
end

function ON.Running(input)
  local stage, pod = input.condition.stage, own_pod(input)
  if not pod or pod.deleting then
    return go(stage, "Failed", "the worker is gone")
  end
  if pod.phase == "Failed" or pod.phase == "Succeeded" then
    return on_pod_end(input, pod)
  end
  local more = pod.phase == "Running" and { actions = { "record_node" } } or nil
  local seconds = stage_seconds(stage, "running")
  return stay_or_delete(input, seconds, "the worker runs", "the worker did not finish", more)
end

function ON.Succeeded(input)
  local note = "the worker is done; its report is awaited"
  return stay(input, options.report_seconds, note, "no report of the worker's result")
end

function ON.Completed(input)
  local stage = NEXT[input.condition.stage] or "Train"
  return go(stage, "Waiting", nil, { note = "the next stage begins" })
end

function ON.Failed(input)
  local condition = input.condition
  local stage = condition.stage
  local count = failures(input, stage)
  if count >= options.tries then
    local reason = stage .. " failed " .. count .. " times"
    if condition.reason then
      reason = reason .. ", at last: " .. condition.reason
    end
    return go(stage, "GaveUp", reason)
  end
  local pause = options.backoff_seconds * 2 ^ math.min(count - 1, 30)
  pause = math.tointeger(math.min(pause, options.backoff_most_seconds)) or options.backoff_seconds
  local left = pause - times.between(condition.since, input.now)
  if left > 0 then
    local note = "try " .. count + 1 .. " of " .. options.tries .. " comes after a pause"
    return { note = note, after = left }
  end
  return again(input, stage)
end

function ON.GaveUp(input)
  local asked = annotation(input, RESUME)
  local since = times.seconds(input.condition.since)
  local at = times.seconds(asked)
  if at and since and at > since then
    return go("Train", "Waiting", "resumed by " .. RESUME)
  end
  local wait = options.resume_after_seconds
  if wait <= 0 then
    return { note = "given up; a time in the annotation " .. RESUME .. " starts a new round" }
  end
  local left = wait - times.between(input.condition.since, input.now)
  if left > 0 then
    return { note = "given up; a new round starts later", after = left }
  end
  return go("Train", "Waiting", "a new round after giving up")
end

function ON.Paused(input)
  if annotation(input, PAUSE) == "true" then
    return { note = "paused by the annotation " .. PAUSE }
  end
  local was = effective(input)
  if was.type == "Completed" then
    return go(NEXT[was.stage] or "Train", "Waiting", "resumed")
  elseif was.type == "Failed" or was.type == "Ready" then
    return again(input, was.stage)
  end
  return go(was.stage, "Waiting", "resumed")
end

local CAN_PAUSE = { Waiting = true, Ready = true, Completed = true, Failed = true }

---@param input perigee.StageInput
---@return perigee.StageDecision? decision nil: the job stays where it is
function M.transit(input)
  check_options()
  local condition = input.condition
  if CAN_PAUSE[condition.type] and annotation(input, PAUSE) == "true" then
    return go(condition.stage, "Paused", "by the annotation " .. PAUSE, { data = condition.data })
  end
  local act = ON[condition.type]
  return act and act(input)
end

-- ---- reports ----

--- The URLs of the models of an input or output, as keys.
local function urls(part)
  local found = {}
  local one = json.at(part, "model", "url")
  if type(one) == "string" then
    found[one] = true
  end
  for _, model in ipairs(json.given(json.at(part, "models")) or {}) do
    local url = json.at(model, "url")
    if type(url) == "string" then
      found[url] = true
    end
  end
  return found
end

local function share(a, b)
  for url in pairs(a) do
    if b[url] then
      return true
    end
  end
  return false
end

local function check_ready(input, report)
  local stage, given = report.stage, json.given(json.at(report, "data", "input"))
  if stage == "Deploy" then
    return true
  end
  if not given or not next(urls(given)) then
    return false, "it names no model to work on"
  end
  local history = input.history
  if stage == "Train" then
    local i = last_index(history, "Train", "Ready")
    local before = i and history[i]
    local old = json.given(json.at(before, "data", "input"))
    local same = old and old.outputDir == given.outputDir and old.dataURL == given.dataURL
    if same and times.between(before.at, input.now) < options.duplicate_seconds then
      return false, "this round was reported at " .. before.at .. " already"
    end
    return true
  end
  local i = last_index(history, "Train", "Completed", round_start(history))
  local made = urls(i and json.at(history[i], "data", "output"))
  if next(made) and not share(made, urls(given)) then
    return false, "it is about a model of another round"
  end
  return true
end

local function check_result(input, report)
  local stage = report.stage
  if report.type == "Failed" or stage == "Deploy" then
    return true
  end
  local made = urls(json.at(report, "data", "output"))
  if not next(made) then
    return false, "it carries no model"
  end
  local asked = json.given(json.at(ready_of(input, stage), "data", "input"))
  if stage == "Train" and asked and asked.outputDir then
    local folder = asked.outputDir .. "/"
    for url in pairs(made) do
      if url:sub(1, #folder) == folder then
        return true
      end
    end
    return false, "its model is not in " .. asked.outputDir .. ", so it is of another round"
  end
  if asked and next(urls(asked)) and not share(urls(asked), made) then
    return false, "it is about models of another round"
  end
  return true
end

local AT_WORK = { Ready = true, Starting = true, Running = true, Succeeded = true, Failed = true }

--- Counts what fits the stage and the round at hand; anything else is a duplicate or comes late.
---@param input perigee.StageInput
---@param report {stage: string, type: string, data: table?}
---@return boolean accepted
---@return string? reason
function M.report(input, report)
  check_options()
  local now = effective(input)
  if report.stage ~= now.stage then
    return false, "the job is at " .. now.stage .. " " .. now.type
  elseif report.type == "Waiting" then
    return false, "edge nodes do not begin stages"
  elseif now.type == "Waiting" then
    if report.type == "Ready" then
      return check_ready(input, report)
    end
    return report.stage == "Deploy", "nothing of this stage has begun"
  elseif AT_WORK[now.type] and report.type ~= "Ready" then
    if now.type == "Failed" and report.type == "Failed" then
      return false, "the stage has failed already"
    end
    return check_result(input, report)
  end
  return false, "the job is at " .. now.stage .. " " .. now.type
end

return M
