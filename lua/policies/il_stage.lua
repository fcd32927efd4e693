-- SPDX-License-Identifier: Apache-2.0
--- What an incremental-learning job does next: Sedna's stage machine as a table. See
--- policy-guide.md, "il_stage".
local M = { api = "il_stage/v1" }

--- The stage after the one that is completed. Anything else starts over with Train.
local NEXT = { Train = "Eval", Eval = "Deploy", Deploy = "Train" }

--- Rows are tried from top to bottom; the first that fits decides. What a row can ask for:
---   type     of the latest condition ("" when there is none)
---   stage    one name, or a list; absent: any
---   hot      with hot update of the model, or without; absent: both
---   pod      phase of the stage's worker ("none" without one), or a list; absent: any
--- What it answers:
---   to       type of the new condition; absent: the job stays where it is
---   stage_to "same" (the default), "next", or the name of a stage
---   actions  done before the condition is written
---   note     for `perigee why`
local TABLE = {
  { type = "", to = "Waiting", note = "the job begins" },

  { type = "Waiting", note = "an edge node has to report" },

  {
    type = "Ready",
    stage = "Deploy",
    hot = false,
    to = "Completed",
    actions = { "restart_inference" },
    note = "the new model is in place, the inference worker starts anew with it",
  },
  {
    type = "Ready",
    stage = "Deploy",
    hot = true,
    to = "Starting",
    note = "the inference worker loads the new model while it runs",
  },
  {
    type = "Ready",
    pod = { "Pending", "Running" },
    to = "Starting",
    note = "a worker of this stage is there already",
  },
  {
    type = "Ready",
    to = "Starting",
    actions = { "create_worker" },
    note = "the edge node has the samples ready",
  },

  {
    type = { "Starting", "Running" },
    stage = "Deploy",
    hot = false,
    pod = "Running",
    to = "Completed",
    note = "the inference worker runs",
  },
  {
    type = "Starting",
    pod = "Running",
    to = "Running",
    actions = { "record_node" },
    note = "the worker runs",
  },
  {
    type = "Running",
    pod = "Running",
    actions = { "record_node" },
    note = "the worker runs; it reports when it is done",
  },
  {
    type = { "Starting", "Running" },
    pod = "Succeeded",
    to = "Completed",
    note = "the worker succeeded",
  },
  { type = { "Starting", "Running" }, pod = "Failed", to = "Failed", note = "the worker failed" },
  {
    type = { "Starting", "Running" },
    note = "the worker is not there, or neither runs nor ended",
  },

  { type = "Completed", to = "Waiting", stage_to = "next", note = "the next stage begins" },
  { type = "Failed", to = "Waiting", stage_to = "Train", note = "a failed round starts over" },
}

--- wanted: nil for anything, a text, or a list of texts.
local function fits(wanted, value)
  if wanted == nil or wanted == value then
    return true
  end
  if type(wanted) == "table" then
    for _, one in ipairs(wanted) do
      if one == value then
        return true
      end
    end
  end
  return false
end

local function find_row(condition, hot, phase)
  for _, row in ipairs(TABLE) do
    if
      fits(row.type, condition.type)
      and fits(row.stage, condition.stage)
      and (row.hot == nil or row.hot == hot)
      and fits(row.pod, phase)
    then
      return row
    end
  end
end

---@param input perigee.StageInput
---@return perigee.StageDecision? decision nil: the job stays where it is
function M.transit(input)
  local condition = input.condition
  local row = find_row(condition, input.hot_update, input.pod and input.pod.phase or "none")
  if not row then
    return nil -- a type that is not ours
  end
  local decision = { actions = row.actions, note = row.note }
  if row.to then
    local stage = row.stage_to or "same"
    if stage == "same" then
      stage = condition.stage
    elseif stage == "next" then
      stage = NEXT[condition.stage] or "Train"
    end
    decision.stage, decision.type = stage, row.to
  end
  return decision
end

--- Every well-formed report counts, whatever the job does at the moment.
---@param _input perigee.StageInput
---@param _report {stage: string, type: string, data: table?}
---@return boolean accepted
---@return string? reason
function M.report(_input, _report)
  return true
end

return M
