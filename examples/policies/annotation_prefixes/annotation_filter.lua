-- SPDX-License-Identifier: Apache-2.0
--- Keep or drop annotations by prefix. The longest prefix that fits decides; where none does, the
--- shipped rule (the disallowed list of the configuration). A prefix may also be a whole key.
---
---     options:
---       annotation_filter:
---         drop: [example.com/, kubectl.kubernetes.io/]
---         keep: [example.com/public-]
local M = {
  api = "annotation_filter/v1",
  options = { keep = {}, drop = { "kubectl.kubernetes.io/", "argocd.argoproj.io/" } },
}

local function longest(prefixes, key)
  local best = -1
  for _, prefix in ipairs(prefixes) do
    if key:sub(1, #prefix) == prefix and #prefix > best then
      best = #prefix
    end
  end
  return best
end

function M.keep(key, _value, _layer, _service)
  local kept, dropped = longest(options.keep, key), longest(options.drop, key)
  if kept < 0 and dropped < 0 then
    return nil
  end
  if kept >= dropped then
    return true
  end
  return false, "its first " .. dropped .. " characters are a prefix that is dropped"
end

return M
