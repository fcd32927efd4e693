-- SPDX-License-Identifier: Apache-2.0
--- Pin versions. The option `pins` says which tag or digest a repository has, whatever the runtime
--- says; a service that asks for a `runtimeVersion` that is not among `allowed` is refused, unless
--- none is listed.
---
---     options:
---       image:
---         pins: {kserve/sklearnserver: v0.15.2, vllm/vllm-openai: "sha256:..."}
---         allowed: [1.2.3]
local M = { api = "image/v1", options = { pins = {}, allowed = {} } }

local images, shipped = perigee.images, perigee.shipped.image

local function is_allowed(version)
  if #options.allowed == 0 then
    return true
  end
  for _, one in ipairs(options.allowed) do
    if one == version then
      return true
    end
  end
  return false
end

function M.tag(image, request)
  local version = request.runtime_version
  if version and version ~= "" then
    if not is_allowed(version) then
      error("runtimeVersion " .. version .. " is not one of the versions that are allowed here", 0)
    end
    return shipped.tag(image, request)
  end
  local parts = images.parse(image)
  local pin = options.pins[parts.repository]
  if not pin then
    return shipped.tag(image, request)
  end
  if pin:find(":", 1, true) then
    parts.tag, parts.digest = nil, pin
  else
    parts.tag, parts.digest = pin, nil
  end
  return images.format(parts)
end

return M
