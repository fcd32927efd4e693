-- SPDX-License-Identifier: Apache-2.0
--- Two-person approval by annotation. In namespaces with the label `environment: production` a
--- service gets a runtime only when two different people have approved the very model it has: its
--- annotation `example.com/approved` lists them with the storage URI that they looked at, as in
--- `alice=s3://models/iris/7, bob=s3://models/iris/7`. Admission control has to see to it that
--- people write their own name only.
local M = {
  api = "runtime_selection/v1",
  options = {
    annotation = "example.com/approved",
    label = "environment",
    value = "production",
    people = 2,
  },
}

local json, labels, shipped = perigee.json, perigee.labels, perigee.shipped.runtime_selection

--- How many different people approved the URI.
local function count_approvals(list, uri)
  local seen, count = {}, 0
  for person, approved in (list or ""):gmatch("([^%s,=]+)=([^%s,]+)") do
    if approved == uri and not seen[person] then
      seen[person] = true
      count = count + 1
    end
  end
  return count
end

function M.accept(candidate, request)
  local namespace = request.namespace
  local is_guarded = namespace and labels.get(namespace, options.label) == options.value
  if is_guarded then
    local uri = json.given(request.model.storageUri) or ""
    local count = count_approvals(labels.annotation(request.service, options.annotation), uri)
    if count < options.people then
      local text = "%d of %d people have approved '%s' in %s"
      return false, text:format(count, options.people, uri, options.annotation), "other"
    end
  end
  return shipped.accept(candidate, request)
end

return M
