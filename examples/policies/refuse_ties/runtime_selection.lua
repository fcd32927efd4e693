-- SPDX-License-Identifier: Apache-2.0
--- Refuse ties. When two runtimes fit equally well (scope, priority, protocol), the newest wins as
--- shipped, and a new runtime changes what runs. With this policy the service fails until its user
--- names one or an admin gives one of them a priority.
local M = { api = "runtime_selection/v1" }

local explain = perigee.explain

local function is_equal(a, b)
  local x, y = a.match and a.match.priority, b.match and b.match.priority
  return a.scope == b.scope and x == y and a.protocol == b.protocol
end

function M.choose(candidates, _request)
  local names = {}
  for _, candidate in ipairs(candidates) do
    if is_equal(candidates[1], candidate) then
      names[#names + 1] = candidate.name
    end
  end
  if #names > 1 then
    error(explain.list(names) .. " fit equally well; name one in spec.predictor.model.runtime", 0)
  end
  return nil
end

return M
