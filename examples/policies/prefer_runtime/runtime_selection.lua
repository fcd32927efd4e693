-- SPDX-License-Identifier: Apache-2.0
--- Prefer a runtime by namespace or by label. A namespace names runtimes in its annotation
--- `example.com/preferred-runtimes: mlserver, sklearn`, a service in its own annotation of the same
--- name, which comes first. They are taken in this order when they fit; the others follow as
--- shipped. A runtime with the label of the option `preferred_label` comes before one without.
local M = {
  api = "runtime_selection/v1",
  options = { annotation = "example.com/preferred-runtimes", preferred_label = "example.com/tier" },
}

local labels, shipped = perigee.labels, perigee.shipped.runtime_selection

--- Position of each name in "a, b, c".
local function positions(list)
  local at, count = {}, 0
  for name in (list or ""):gmatch("[^%s,]+") do
    count = count + 1
    at[name] = at[name] or count
  end
  return at
end

--- Small is good: 1 and up for a name that is preferred, then runtimes with the label, then others.
local function rank(candidate, request)
  local asked = labels.annotation(request.service, options.annotation)
    or labels.annotation(request.namespace, options.annotation)
  local place = positions(asked)[candidate.name]
  if place then
    return place
  end
  return labels.get(candidate.object, options.preferred_label) and 1000 or 1001
end

function M.before(a, b, request)
  local first, second = rank(a, request), rank(b, request)
  if first ~= second then
    return first < second
  end
  return shipped.before(a, b, request)
end

return M
