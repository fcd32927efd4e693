-- SPDX-License-Identifier: Apache-2.0
--- Image references: [REGISTRY/]REPOSITORY[:TAG][@DIGEST].
---@class perigee.images
local M = {}

---@class perigee.Image
---@field registry? string   "ghcr.io", "localhost:5000"; nil: the default one
---@field repository string  "kserve/sklearnserver"
---@field tag? string
---@field digest? string     "sha256:..."

--- The first part of a path is a registry when it looks like a host: a dot, a port, or localhost.
local function is_registry(word)
  return word:find("[.:]") ~= nil or word == "localhost"
end

--- The parts of a reference.
---@param image string
---@return perigee.Image
function M.parse(image)
  local rest, digest = image:match("^(.-)@(.*)$")
  rest = rest or image
  local path, tag = rest:match("^(.*):([^:/]*)$")
  path = path or rest
  local first, others = path:match("^([^/]*)/(.*)$")
  if first and is_registry(first) then
    return { registry = first, repository = others, tag = tag, digest = digest }
  end
  return { repository = path, tag = tag, digest = digest }
end

--- The reference of parts.
---@param parts perigee.Image
---@return string
function M.format(parts)
  return (parts.registry and parts.registry .. "/" or "")
    .. parts.repository
    .. (parts.tag and ":" .. parts.tag or "")
    .. (parts.digest and "@" .. parts.digest or "")
end

--- The image with another tag. A digest is dropped: it names the old content.
---@param image string
---@param tag string
---@return string
function M.with_tag(image, tag)
  local parts = M.parse(image)
  parts.tag, parts.digest = tag, nil
  return M.format(parts)
end

--- The image from another registry (a mirror).
---@param image string
---@param registry string
---@return string
function M.with_registry(image, registry)
  local parts = M.parse(image)
  parts.registry = registry
  return M.format(parts)
end

return M
