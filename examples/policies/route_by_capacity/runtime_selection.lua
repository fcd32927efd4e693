-- SPDX-License-Identifier: Apache-2.0
--- Route by free capacity. Policies see no nodes; whoever watches them (a cron job, an autoscaler)
--- writes into the runtime's annotation `example.com/free-gpus` how many GPUs are free where it
--- runs. Runtimes with enough of them for one replica come first, the fullest that still fits
--- before emptier ones, so that large holes stay; runtimes without the annotation come after those.
local M = { api = "runtime_selection/v1", options = { annotation = "example.com/free-gpus" } }

local json, labels, quantity = perigee.json, perigee.labels, perigee.quantity
local shipped = perigee.shipped.runtime_selection

local function asked_gpus(model)
  local limits = json.at(model, "resources", "limits")
  return json.at(limits, "nvidia.com/gpu") or "0"
end

--- Free GPUs when they suffice; nil when they do not or nobody knows.
local function room(candidate, request)
  local free = labels.annotation(candidate.object, options.annotation)
  if free and quantity.is_valid(free) and not quantity.less(free, asked_gpus(request.model)) then
    return free
  end
  return nil
end

function M.before(a, b, request)
  local first, second = room(a, request), room(b, request)
  if first and second and quantity.compare(first, second) ~= 0 then
    return quantity.less(first, second)
  end
  if (first == nil) ~= (second == nil) then
    return first ~= nil
  end
  return shipped.before(a, b, request)
end

return M
