-- SPDX-License-Identifier: Apache-2.0
--- Force a mirror registry. Images of all containers and init containers come from `mirror`; those
--- of the registries in `trusted` stay. The mirror keeps the repository's name below the name of
--- the registry that it came from, as pull-through caches do.
local M = {
  api = "object_patch/v1",
  options = { mirror = "registry.example.com", default = "docker.io", trusted = {} },
}

local images, json = perigee.images, perigee.json

local function is_trusted(registry)
  if registry == options.mirror then
    return true
  end
  for _, one in ipairs(options.trusted) do
    if one == registry then
      return true
    end
  end
  return false
end

--- The image from the mirror; nil when it stays.
local function mirrored(image)
  local parts = images.parse(image)
  local registry = parts.registry or options.default
  if is_trusted(registry) then
    return nil
  end
  parts.registry = options.mirror
  parts.repository = registry .. "/" .. parts.repository
  return images.format(parts)
end

--- A patch of a list of containers, which merges by name; nil when nothing changes.
local function patch_containers(containers)
  local changed
  for _, container in ipairs(json.given(containers) or {}) do
    local image = container.image and mirrored(container.image)
    if image then
      changed = changed or {}
      changed[#changed + 1] = { name = container.name, image = image }
    end
  end
  return changed
end

function M.patch(object, _service)
  local pod = json.at(object, "spec", "template", "spec")
  if not pod then
    return nil
  end
  local containers, init = patch_containers(pod.containers), patch_containers(pod.initContainers)
  if not containers and not init then
    return nil
  end
  return { spec = { template = { spec = { containers = containers, initContainers = init } } } }
end

return M
