-- SPDX-License-Identifier: Apache-2.0
-- A health check as Argo CD runs them: global `obj` in, a table with status and message out.
--   perigee eval examples/scripts/argocd_health.lua --as obj --input services.ndjson
hs = { status = "Progressing", message = "nothing is known yet" }

local function condition_of(kind)
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == kind then
      return condition
    end
  end
end

if obj.status ~= nil and obj.status.conditions ~= nil and table.getn(obj.status.conditions) > 0 then
  local ready = condition_of("Ready")
  if ready ~= nil and ready.status == "True" then
    hs.status = "Healthy"
    hs.message = "ready"
  elseif ready ~= nil and ready.status == "False" then
    local reasons = {}
    for word in string.gfind(ready.reason or "unknown", "%u%l+") do
      table.insert(reasons, string.lower(word))
    end
    hs.status = "Degraded"
    hs.message = table.concat(reasons, " ") .. ": " .. (ready.message or "")
  end
end

return hs
